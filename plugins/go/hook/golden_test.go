package hook

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The request lines of the protocol's documentation, as hookgate writes them.
const (
	hello     = `{"jsonrpc":"2.0","id":1,"method":"hook.hello","params":{"name":"py_review_gate","version":1,"stages":["before_llm","before_tool","approve_tool","after_tool"],"modes":["observe","llm","tool","approve"]}}`
	metaOf    = `{"AgentID":"main","TurnID":"main-turn-3","ParentTurnID":"","SessionKey":"telegram:-42:7","Iteration":0,"TracePath":"runTurn","Source":"turn.tool.before"}`
	inbound   = `"context":{"inbound":{"channel":"telegram","chat_id":"-42","chat_type":"group","topic_id":"7","sender_id":"501","message_id":"88"}}`
	chat      = `"channel":"telegram","chat_id":"-42"`
	beforeLLM = `{"meta":` + metaOf + `,"model":"gpt-4o-mini","messages":[{"role":"system","content":"You look after one server."},{"role":"user","content":"How full is the disk?"}],"tools":[{"type":"function","function":{"name":"bash","description":"run one command","parameters":{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}}}],"options":{"temperature":0.7,"max_tokens":4096},` + chat + `,"graceful_terminal":false,` + inbound + `,"deadline_ms":5000}`
	afterLLM  = `{"meta":` + metaOf + `,"model":"gpt-4o-mini","response":{"role":"assistant","content":"","tool_calls":[{"id":"call_1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"df -h /\"}"}}]},` + chat + `,` + inbound + `,"deadline_ms":5000}`
	aboutTool = `{"meta":` + metaOf + `,"tool":"bash","arguments":{"command":"df -h /"},` + chat + `,"tool_call_id":"call_1",` + inbound + `,"deadline_ms":5000}`
	afterTool = `{"meta":` + metaOf + `,"tool":"bash","arguments":{"command":"df -h /"},"result":{"for_llm":"/dev/sda1 61% used","for_user":"","silent":false,"is_error":false,"async":false,"media":[],"artifact_tags":[],"response_handled":false},"duration":18000000,` + chat + `,"tool_call_id":"call_1",` + inbound + `,"deadline_ms":5000}`
	onMessage = `{"meta":` + metaOf + `,"message":{"text":"How full is the disk?","media":["https://example.org/disk.png"],"kind":"message","message_id":"88"},` + chat + `,` + inbound + `,"deadline_ms":5000}`
	sending   = `{"meta":` + metaOf + `,"message":{"text":"61 % of it is used.","media":[],"kind":"answer"},` + chat + `,"in_reply_to":"88",` + inbound + `,"deadline_ms":5000}`
	toolEnd   = `{"jsonrpc":"2.0","method":"hook.event","params":{"Kind":"tool_exec_end","Meta":` + metaOf + `,"Payload":{"Tool":"bash","Duration":18000000,"IsError":false},"Dropped":2}}`
	runtime   = `{"jsonrpc":"2.0","method":"hook.runtime_event","params":{"id":"evt-41","kind":"agent.tool.exec_end","time":"2026-06-14T09:30:00.250000Z","severity":"info","payload":{"Tool":"bash"}}}`
)

var weather = ToolSpec{Name: "weather", Description: "the weather of a city"}

func TestHelloDeclaresWhatHasAFunction(t *testing.T) {
	cases := []struct {
		name     string
		hook     func(h *Hook)
		declares string
	}{
		{"nothing", func(*Hook) {}, `{"ok":true,"name":"test","stages":[],"events":[],"cancel":true}`},
		{"offered stages in order, others not", func(h *Hook) {
			h.AfterTool(func(context.Context, ToolDone) (Answer, error) { return Continue(), nil })
			h.AfterLLM(func(context.Context, LLMReply) (Answer, error) { return Continue(), nil })
			h.BeforeLLM(func(context.Context, LLMRequest) (Answer, error) { return Continue(), nil })
			h.Limit(4)
		}, `{"ok":true,"name":"test","stages":["before_llm","after_tool"],"events":[],"cancel":true,"max_in_flight":4}`},
		{"a tool and events", func(h *Hook) {
			h.Tool(weather, func(context.Context, ToolCall) (ToolResult, error) { return ToolResult{}, nil })
			h.Event(func(Event) {}, "tool_*", "turn_end")
		}, `{"ok":true,"name":"test","stages":["before_tool"],"events":["tool_*","turn_end"],"cancel":true,"tools":[{"type":"function","function":{"name":"weather","description":"the weather of a city","parameters":{"type":"object"}}}]}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := newHook("test")
			c.hook(h)
			p := open(t, h)
			p.send(hello)
			same(t, p.next(), `{"jsonrpc":"2.0","id":1,"result":`+c.declares+`}`)
		})
	}
}

func TestEveryAnswerHasItsShapeOnTheWire(t *testing.T) {
	cases := []struct {
		method, params string
		answer         Answer
		result         string
	}{
		{"hook.before_llm", beforeLLM, Continue(), `{"action":"continue"}`},
		{"hook.before_llm", beforeLLM, Modify(Patch{"model": "other/model"}), `{"action":"modify","request":{"model":"other/model"}}`},
		{"hook.before_llm", beforeLLM, Modify(Patch{"tools": []ToolSpec{weather}}), `{"action":"modify","request":{"tools":[{"type":"function","function":{"name":"weather","description":"the weather of a city","parameters":{"type":"object"}}}]}}`},
		{"hook.after_llm", afterLLM, Modify(Patch{"content": "a < b"}), `{"action":"modify","response":{"content":"a < b"}}`},
		{"hook.after_llm", afterLLM, HardAbort("stop"), `{"action":"hard_abort","reason":"stop"}`},
		{"hook.before_tool", aboutTool, Answer{}, `{"action":"continue"}`},
		{"hook.before_tool", aboutTool, Deny("no"), `{"action":"deny_tool","reason":"no"}`},
		{"hook.before_tool", aboutTool, Abort("enough"), `{"action":"abort_turn","reason":"enough"}`},
		{"hook.before_tool", aboutTool, Modify(Patch{"arguments": map[string]any{"command": "df"}}), `{"action":"modify","call":{"arguments":{"command":"df"}}}`},
		{"hook.before_tool", aboutTool, Respond(ToolResult{ForLLM: "61 %"}), `{"action":"respond","result":{"for_llm":"61 %","silent":false,"is_error":false}}`},
		{"hook.before_tool", aboutTool, Respond(ToolResult{ForLLM: "x"}).WithCall(Patch{"tool": "df"}), `{"action":"respond","call":{"tool":"df"},"result":{"for_llm":"x","silent":false,"is_error":false}}`},
		{"hook.on_message", onMessage, Modify(Patch{"text": "?"}), `{"action":"modify","message":{"text":"?"}}`},
		{"hook.on_message", onMessage, Reply("closed"), `{"action":"respond","reply":{"text":"closed"}}`},
		{"hook.on_message", onMessage, Reply("closed", "data:,x"), `{"action":"respond","reply":{"media":["data:,x"],"text":"closed"}}`},
		{"hook.on_message", onMessage, Drop("spam").Telling(""), `{"action":"drop","reason":"spam","tell":""}`},
		{"hook.before_send", sending, Drop("a name"), `{"action":"drop","reason":"a name"}`},
		{"hook.after_tool", afterTool, Modify(Patch{"for_llm": "?"}), `{"action":"modify","result":{"for_llm":"?"}}`},
	}
	for _, c := range cases {
		t.Run(c.method+" "+c.result, func(t *testing.T) {
			h := newHook("test")
			h.BeforeLLM(func(context.Context, LLMRequest) (Answer, error) { return c.answer, nil })
			h.AfterLLM(func(context.Context, LLMReply) (Answer, error) { return c.answer, nil })
			h.BeforeTool(func(context.Context, ToolCall) (Answer, error) { return c.answer, nil })
			h.AfterTool(func(context.Context, ToolDone) (Answer, error) { return c.answer, nil })
			h.OnMessage(func(context.Context, ChatMessage) (Answer, error) { return c.answer, nil })
			h.BeforeSend(func(context.Context, ChatMessage) (Answer, error) { return c.answer, nil })
			same(t, open(t, h).call(4, c.method, c.params), `{"jsonrpc":"2.0","id":4,"result":`+c.result+`}`)
		})
	}
}

func TestEveryApprovalHasItsShapeOnTheWire(t *testing.T) {
	cases := []struct {
		approval Approval
		result   string
	}{
		{Approve(), `{"approved":true}`},
		{Refuse("too late"), `{"approved":false,"reason":"too late"}`},
		{Approval{}, `{"approved":false}`},
		{Ask(Question{}), `{"ask":{}}`},
		{Ask(Question{"Deploy?", "to production", []string{"42"}, 60, 2, new(bool)}), `{"ask":{"title":"Deploy?","text":"to production","approvers":["42"],"ttl_s":60,"required":2,"self_approval":false}}`},
	}
	for _, c := range cases {
		h := newHook("test")
		h.ApproveTool(func(context.Context, ToolCall) (Approval, error) { return c.approval, nil })
		same(t, open(t, h).call(5, "hook.approve_tool", aboutTool), `{"jsonrpc":"2.0","id":5,"result":`+c.result+`}`)
	}
}

func TestFunctionsSeeWhatTheLinesSay(t *testing.T) {
	h := newHook("test")
	h.BeforeLLM(func(_ context.Context, r LLMRequest) (Answer, error) {
		messages, _ := r.Messages()
		tools, _ := r.Tools()
		options, err := r.Options()
		same(t, []any{r.Model, messages[1].Content, tools[0].Name, string(tools[0].Parameters[:9])}, `["gpt-4o-mini","How full is the disk?","bash","{\"type\":\""]`)
		same(t, []any{string(r.Raw("graceful_terminal")), options["max_tokens"] != nil}, `["false",true]`)
		return Continue(), err
	})
	h.AfterLLM(func(_ context.Context, r LLMReply) (Answer, error) {
		call := r.Response.ToolCalls[0]
		same(t, []any{r.Response.Role, call.ID, call.Function.Name, call.Function.Arguments}, `["assistant","call_1","bash","{\"command\":\"df -h /\"}"]`)
		return Continue(), nil
	})
	h.BeforeTool(func(ctx context.Context, c ToolCall) (Answer, error) {
		deadline, ok := ctx.Deadline()
		meta := c.Meta()
		same(t, []any{c.ID, c.Tool, c.Text("command"), c.Text("absent"), c.Channel(), c.ChatID()}, `["call_1","bash","df -h /","","telegram","-42"]`)
		same(t, []any{meta.AgentID, meta.SessionKey, ok && time.Until(deadline) <= 5*time.Second}, `["main","telegram:-42:7",true]`)
		return Continue(), nil
	})
	h.AfterTool(func(_ context.Context, c ToolDone) (Answer, error) {
		same(t, []any{c.Tool, c.Result.ForLLM, c.Duration.String()}, `["bash","/dev/sda1 61% used","18ms"]`)
		return Continue(), nil
	})
	h.OnMessage(func(_ context.Context, m ChatMessage) (Answer, error) {
		same(t, []any{m.Text, m.Media[0], m.Kind, m.MessageID, m.InReplyTo}, `["How full is the disk?","https://example.org/disk.png","message","88",""]`)
		return Continue(), nil
	})
	h.BeforeSend(func(_ context.Context, m ChatMessage) (Answer, error) {
		same(t, []any{m.Text, m.Kind, m.MessageID, m.InReplyTo}, `["61 % of it is used.","answer","","88"]`)
		return Continue(), nil
	})
	p := open(t, h)
	for id, line := range [][2]string{{"hook.on_message", onMessage}, {"hook.before_send", sending}, {"hook.before_llm", beforeLLM}, {"hook.after_llm", afterLLM}, {"hook.before_tool", aboutTool}, {"hook.after_tool", afterTool}} {
		if reply := p.call(id+2, line[0], line[1]); reply["result"] == nil {
			t.Errorf("%s: %v", line[0], reply)
		}
	}
}

func TestIntegersKeepTheirDigits(t *testing.T) {
	h := newHook("test")
	h.BeforeTool(func(_ context.Context, c ToolCall) (Answer, error) {
		var arguments map[string]any
		if err := c.Bind(&arguments); err != nil {
			return Continue(), err
		}
		return Respond(ToolResult{ForLLM: string(c.Arguments)}).WithCall(Patch{"arguments": arguments}), nil
	})
	answer, err := h.beforeTool(context.Background(), Params{object{{"arguments", []byte(`{"n":123456789012345678901}`)}}})
	want := `{"action":"respond","call":{"arguments":{"n":123456789012345678901}},"result":{"for_llm":"{\"n\":123456789012345678901}","silent":false,"is_error":false}}`
	if err != nil || string(answer) != want {
		t.Errorf("got %s %v", answer, err)
	}
}

func TestBothEventEnvelopesAreRead(t *testing.T) {
	events := make(chan Event, 2)
	h := newHook("test")
	h.Event(func(e Event) { events <- e }, "tool_*", "agent.tool.*")
	p := open(t, h)
	p.send(toolEnd)
	p.send(runtime)
	first, second := await(t, events), await(t, events)
	same(t, []any{first.Kind, first.Meta().TurnID, string(first.Payload[:14]), float64(first.Dropped)}, `["tool_exec_end","main-turn-3","{\"Tool\":\"bash\"",2]`)
	same(t, []any{second.Kind, string(second.Payload), second.members.text("id")}, `["agent.tool.exec_end","{\"Tool\":\"bash\"}","evt-41"]`)
}

func TestFilesOfMessages(t *testing.T) {
	dir, digest := t.TempDir(), strings.Repeat("ab", 32)
	if err := os.MkdirAll(filepath.Join(dir, "ab"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ab", digest), []byte("hi"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newHook("x")
	if _, err := h.File("media:text/plain:" + digest); err == nil {
		t.Error("a file was read before hello said where files are")
	}
	h.mediaDir = dir
	for address, want := range map[string]string{
		"media:text/plain:" + digest:                "hi",
		"media:text/plain:" + digest + ":a%20b.txt": "hi",
		"data:text/plain;name=a;base64,aG8=":        "ho",
	} {
		if got, err := h.File(address); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", address, got, err)
		}
	}
	if _, err := h.File("media:text/plain:../" + digest[3:]); err == nil {
		t.Error("a path that leads elsewhere was read")
	}
}
