package hook

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestCallsRunSideBySideAndAnswerOutOfOrder(t *testing.T) {
	const calls = 50
	h := newHook("test")
	answered := make(chan struct{})
	h.BeforeTool(func(ctx context.Context, c ToolCall) (Answer, error) {
		if c.Tool == "last" {
			return Continue(), nil
		}
		select {
		case <-answered:
		case <-ctx.Done():
		}
		return Deny(c.Tool), ctx.Err()
	})
	p := open(t, h)
	for id := 1; id < calls; id++ {
		p.request(id, "hook.before_tool", fmt.Sprintf(`{"tool":"t%d"}`, id))
	}
	if first := p.call(calls, "hook.before_tool", `{"tool":"last"}`); first["id"] != float64(calls) {
		t.Errorf("the last call answers first, not %v", first)
	}
	close(answered)
	for i := 1; i < calls; i++ {
		reply := p.next()
		same(t, reply["result"], fmt.Sprintf(`{"action":"deny_tool","reason":"t%v"}`, reply["id"]))
	}
}

func TestNoMoreThanTheLimitRunAtOnce(t *testing.T) {
	h := newHook("test")
	h.Limit(2)
	entered, leave := make(chan string, 3), make(chan struct{})
	h.BeforeTool(func(_ context.Context, c ToolCall) (Answer, error) {
		entered <- c.Tool
		<-leave
		return Continue(), nil
	})
	p := open(t, h)
	for id := 1; id <= 2; id++ {
		p.request(id, "hook.before_tool", `{"tool":"a"}`)
		await(t, entered)
	}
	same(t, p.call(3, "hook.before_tool", `{"tool":"b","deadline_ms":20}`), `{"jsonrpc":"2.0","id":3,"error":{"code":-32000,"message":"no slot was free in time"}}`)
	close(leave)
	p.next()
	p.next()
	if reply := p.call(4, "hook.before_tool", `{"tool":"c"}`); await(t, entered) != "c" || reply["result"] == nil {
		t.Errorf("a free slot is used again, not %v", reply)
	}
}

func TestACancelledCallEndsAndIsNotAnswered(t *testing.T) {
	h := newHook("test")
	started, ended := make(chan struct{}), make(chan error, 1)
	h.BeforeTool(func(ctx context.Context, c ToolCall) (Answer, error) {
		if c.Tool == "slow" {
			close(started)
			<-ctx.Done()
			ended <- ctx.Err()
		}
		return Continue(), nil
	})
	p := open(t, h)
	p.request(1, "hook.before_tool", `{"tool":"slow"}`)
	await(t, started)
	p.send(`{"jsonrpc":"2.0","method":"hook.cancel","params":{"id":99}}`)
	p.send(`{"jsonrpc":"2.0","method":"hook.cancel","params":{"id":1}}`)
	if err := await(t, ended); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if reply := p.call(2, "hook.before_tool", `{"tool":"quick"}`); reply["id"] != 2.0 {
		t.Errorf("the cancelled call was answered: %v", reply)
	}
	if err := p.closed(); err != nil || len(p.replies) != 0 {
		t.Errorf("got %v and %d more replies", err, len(p.replies))
	}
}

func TestTheDeadlineEndsTheContext(t *testing.T) {
	h := newHook("test")
	h.BeforeTool(func(ctx context.Context, _ ToolCall) (Answer, error) {
		<-ctx.Done()
		return Continue(), ctx.Err()
	})
	same(t, open(t, h).call(1, "hook.before_tool", `{"tool":"a","deadline_ms":5}`), `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"context deadline exceeded"}}`)
}

func TestAFailingFunctionIsAFailedCall(t *testing.T) {
	h := newHook("test")
	h.BeforeTool(func(context.Context, ToolCall) (Answer, error) { return Deny("x"), errors.New(`no "policy" file`) })
	h.AfterTool(func(context.Context, ToolDone) (Answer, error) { panic("lost") })
	h.BeforeLLM(func(context.Context, LLMRequest) (Answer, error) {
		return Modify(Patch{"options": make(chan int)}), nil
	})
	p := open(t, h)
	same(t, p.call(1, "hook.before_tool", `{}`), `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no \"policy\" file"}}`)
	same(t, p.call(2, "hook.after_tool", `{}`), `{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"panic: lost"}}`)
	same(t, p.call(3, "hook.before_llm", `{}`), `{"jsonrpc":"2.0","id":3,"error":{"code":-32000,"message":"json: unsupported type: chan int"}}`)
	if !strings.Contains(p.log.String(), "goroutine") {
		t.Errorf("the panic's stack is in the log, not %q", p.log)
	}
}

func TestWhatIsNotACallOfThisHook(t *testing.T) {
	h := newHook("test")
	h.BeforeTool(func(context.Context, ToolCall) (Answer, error) { return Deny("asked"), nil })
	p := open(t, h)
	cases := []struct{ method, params, reply string }{
		{"hook.nonsense", `{}`, `"error":{"code":-32601,"message":"unknown method hook.nonsense"}`},
		{"before_tool", `{}`, `"error":{"code":-32601,"message":"unknown method before_tool"}`},
		{"hook.approve_tool", `{}`, `"error":{"code":-32601,"message":"unknown method hook.approve_tool"}`},
		{"hook.after_llm", `{}`, `"result":{"action":"continue"}`},
		{"hook.before_tool", `[1]`, `"error":{"code":-32602,"message":"params: not a JSON object"}`},
		{"hook.before_tool", `null`, `"result":{"action":"deny_tool","reason":"asked"}`},
	}
	for i, c := range cases {
		same(t, p.call(i+1, c.method, c.params), fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, i+1, c.reply))
	}
}

func TestBadLinesAreLoggedAndSkipped(t *testing.T) {
	h := newHook("test")
	h.BeforeTool(func(context.Context, ToolCall) (Answer, error) { return Deny("asked"), nil })
	h.maxLine = 100_000
	p := open(t, h)
	for _, line := range []string{
		"starting up", "", "  ", "[1,2]", "7", `{"id":1,"method":"hook.before_tool"`, `{"id":1,}`, `{"id":nope,"method":"hook.before_tool"}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"method":"hook.later","params":{}}`, `{"method":"hook.event","params":3}`,
		`{"id":0,"method":"hook.before_tool","params":{}}`, `{"id":1,"method":"hook.before_tool","x":"` + strings.Repeat("x", 300_000) + `"}`,
	} {
		p.send(line)
	}
	same(t, p.call(1, "hook.before_tool", `{}`), `{"jsonrpc":"2.0","id":1,"result":{"action":"deny_tool","reason":"asked"}}`)
	for _, note := range []string{`"starting up"`, `"[1,2]"`, `"7"`, "more than 100000 bytes"} {
		if !strings.Contains(p.log.String(), note) {
			t.Errorf("no %s in the log %q", note, p.log)
		}
	}
	if p.closed(); len(p.replies) != 0 {
		t.Errorf("%d lines were answered that should not be", len(p.replies))
	}
}

func TestBigLinesPassWhole(t *testing.T) {
	h := newHook("test")
	h.AfterTool(func(_ context.Context, c ToolDone) (Answer, error) {
		return Modify(Patch{"for_llm": strings.ToUpper(c.Result.ForLLM)}), nil
	})
	p := open(t, h)
	for id, size := range []int{5 << 20, 10, readSize - 60, 1 << 20} {
		text := strings.Repeat("y", size)
		reply := p.call(id+1, "hook.after_tool", `{"tool":"cat","result":{"for_llm":"`+text+`"}}`)
		same(t, reply["result"], `{"action":"modify","result":{"for_llm":"`+strings.ToUpper(text)+`"}}`)
	}
}

func TestAToolIsAnsweredByItsOwner(t *testing.T) {
	h := newHook("test")
	h.Tool(weather, func(_ context.Context, c ToolCall) (ToolResult, error) {
		if c.Text("city") == "" {
			return ToolResult{}, errors.New("which city?")
		}
		return ToolResult{ForLLM: "rain in " + c.Text("city")}, nil
	})
	h.BeforeTool(func(_ context.Context, c ToolCall) (Answer, error) { return Deny("not " + c.Tool), nil })
	p := open(t, h)
	same(t, p.call(1, "hook.before_tool", `{"tool":"weather","arguments":{"city":"Bergen"}}`)["result"], `{"action":"respond","result":{"for_llm":"rain in Bergen","silent":false,"is_error":false}}`)
	same(t, p.call(2, "hook.before_tool", `{"tool":"weather","arguments":{}}`)["result"], `{"action":"respond","result":{"for_llm":"which city?","silent":false,"is_error":true}}`)
	same(t, p.call(3, "hook.before_tool", `{"tool":"bash"}`)["result"], `{"action":"deny_tool","reason":"not bash"}`)
}

func TestEventsComeInOrderAndSurviveAPanic(t *testing.T) {
	const events = 200
	h := newHook("test")
	seen := []string{}
	h.Event(func(e Event) {
		seen = append(seen, e.Kind)
		if e.Kind == "turn_7" {
			panic("seven")
		}
	}, "turn_*")
	p := open(t, h)
	for i := 0; i < events; i++ {
		p.send(fmt.Sprintf(`{"method":"hook.event","params":{"Kind":"turn_%d"}}`, i))
		p.send(`{"method":"hook.event","params":{"Kind":"llm_request"}}`)
	}
	if err := p.closed(); err != nil || len(seen) != events || seen[199] != "turn_199" || seen[8] != "turn_8" {
		t.Errorf("got %v %v", err, seen)
	}
}

func TestAFullEventQueueLosesTheOldestAndCounts(t *testing.T) {
	q := newQueue()
	for i := 0; i < queueSize+3; i++ {
		q.put(Event{Kind: fmt.Sprint(i)})
	}
	close(q.items)
	dropped, first, last := 0, "", ""
	for e := range q.items {
		if first == "" {
			first = e.Kind
		}
		dropped, last = dropped+e.Dropped, e.Kind
	}
	if dropped != 3 || first != "3" || last != fmt.Sprint(queueSize+2) {
		t.Errorf("got %d dropped, %s to %s", dropped, first, last)
	}
}

func TestAtEOFRunningCallsMayFinish(t *testing.T) {
	h := newHook("test")
	started, leave := make(chan struct{}), make(chan struct{})
	h.BeforeTool(func(context.Context, ToolCall) (Answer, error) {
		close(started)
		<-leave
		return Deny("in the end"), nil
	})
	p := open(t, h)
	p.request(1, "hook.before_tool", `{}`)
	await(t, started)
	p.in.Close()
	close(leave)
	same(t, p.next()["result"], `{"action":"deny_tool","reason":"in the end"}`)
	if err := p.closed(); err != nil {
		t.Error(err)
	}
}

func TestAtEOFNobodyWaitsForever(t *testing.T) {
	h := newHook("test")
	ended := make(chan struct{})
	h.BeforeTool(func(ctx context.Context, _ ToolCall) (Answer, error) {
		<-ctx.Done()
		close(ended)
		return Continue(), nil
	})
	p := open(t, h)
	p.request(1, "hook.before_tool", `{}`)
	if err := p.closed(); err != nil {
		t.Error(err)
	}
	await(t, ended)
}
