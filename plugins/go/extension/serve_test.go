package extension

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

// peer is the host's end of an extension that runs in this process.
type peer struct {
	t      *testing.T
	in     *io.PipeWriter
	frames chan map[string]any
	served chan error
	log    *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

func open(t *testing.T, e *Extension) *peer {
	fromHost, in := io.Pipe()
	out, toHost := io.Pipe()
	p := &peer{t, in, make(chan map[string]any, 1000), make(chan error, 1), &lockedBuffer{}}
	e.log = log.New(p.log, "", 0)
	go func() {
		p.served <- e.Serve(fromHost, toHost)
		toHost.Close()
	}()
	go func() {
		defer close(p.frames)
		for lines := bufio.NewReaderSize(out, 8<<20); ; {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			var frame map[string]any
			if err := json.Unmarshal(line, &frame); err != nil {
				t.Errorf("no JSON: %s", line)
			}
			p.frames <- frame
		}
	}()
	t.Cleanup(func() { in.Close() })
	return p
}

// ready passes the start.
func (p *peer) ready() *peer {
	for p.next()["type"] != "ready" {
	}
	return p
}

func (p *peer) send(frames ...string) {
	p.t.Helper()
	for _, frame := range frames {
		if _, err := io.WriteString(p.in, frame+"\n"); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *peer) next() map[string]any {
	p.t.Helper()
	select {
	case frame := <-p.frames:
		return frame
	case <-time.After(20 * time.Second):
		p.t.Fatal("no frame came")
		return nil
	}
}

func (p *peer) call(frame string) map[string]any {
	p.t.Helper()
	p.send(frame)
	return p.next()
}

func same(t *testing.T, got any, wanted string) {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(wanted), &value); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, value) {
		t.Errorf("got %v, not %s", got, wanted)
	}
}

func TestTheStartNamesWhatHasFunctions(t *testing.T) {
	e := newExtension("t", "1.0.0")
	e.Command("note", "append a note", func(context.Context, string) (Answer, error) { return Noop(), nil })
	e.Tool(Tool{Name: "count"}, func(context.Context, Call) (Result, error) { return Text("1"), nil })
	e.On(func(Event) {}, "turn_start", "turn_end")
	e.Intercept("tool_call", func(context.Context, Event) (Verdict, error) { return Allow(), nil })
	p := open(t, e)
	same(t, p.next(), `{"type":"hello","name":"t","version":"1.0.0","capabilities":["commands","tools","events","tool_cancel"]}`)
	same(t, p.next(), `{"type":"register_command","name":"note","description":"append a note"}`)
	same(t, p.next(), `{"type":"register_tool","name":"count","description":"","schema":{"type":"object"}}`)
	same(t, p.next(), `{"type":"subscribe","events":["turn_start","turn_end"]}`)
	same(t, p.next(), `{"type":"subscribe","intercept":["tool_call"]}`)
	same(t, p.next(), `{"type":"ready"}`)
}

func TestAStartFunctionRegistersForTheHostThatItKnows(t *testing.T) {
	e := newExtension("t", "1")
	e.Start(func(host Host) {
		e.Command("on-"+host.Model, "", func(context.Context, string) (Answer, error) {
			return Display(e.ProjectDir() + " " + e.DataDir()), nil
		})
	})
	p := open(t, e)
	p.next()
	p.send(`{"type":"hello_ack","protocol_version":1,"model":"m","cwd":"/project","extension_dir":"/own","data_dir":""}`)
	same(t, p.next(), `{"type":"register_command","name":"on-m"}`)
	same(t, p.next(), `{"type":"ready"}`)
	same(t, p.call(`{"type":"command_invoked","id":"1","name":"on-m"}`), `{"type":"command_response","id":"1","action":"display","display":"/project /own"}`)
}

func TestCommandsAnswerInEveryWay(t *testing.T) {
	answers := map[string]struct {
		answer Answer
		err    error
		frame  string
	}{
		"noop":    {Noop(), nil, `"action":"noop"`},
		"prompt":  {Prompt("<p>"), nil, `"action":"prompt","prompt":"<p>"`},
		"insert":  {Insert("i"), nil, `"action":"insert","insert":"i"`},
		"display": {Display("d"), nil, `"action":"display","display":"d"`},
		"show":    {Show(Panel{ID: "p", Title: "T"}), nil, `"action":"open_panel","open_panel":{"id":"p","title":"T","lines":[],"footer":""}`},
		"error":   {Noop(), errors.New("no file"), `"action":"noop","error":"no file"`},
	}
	e := newExtension("t", "1")
	for name, it := range answers {
		it := it
		e.Command(name, "", func(context.Context, string) (Answer, error) { return it.answer, it.err })
	}
	e.Command("panic", "", func(context.Context, string) (Answer, error) { panic("lost") })
	p := open(t, e).ready()
	for name, it := range answers {
		same(t, p.call(`{"type":"command_invoked","id":"1","name":"`+name+`","args":"x"}`), `{"type":"command_response","id":"1",`+it.frame+`}`)
	}
	same(t, p.call(`{"type":"command_invoked","id":"2","name":"panic"}`), `{"type":"command_response","id":"2","action":"noop","error":"panic: lost"}`)
	same(t, p.call(`{"type":"command_invoked","id":"3","name":"other"}`), `{"type":"command_response","id":"3","action":"noop","error":"no command /other here"}`)
}

func TestToolsAnswerWithBlocksAndFailuresAreErrors(t *testing.T) {
	e := newExtension("t", "1")
	e.Tool(Tool{Name: "draw"}, func(context.Context, Call) (Result, error) {
		return Text("a cat").WithImage("image/png", []byte("png")), nil
	})
	e.Tool(Tool{Name: "fail"}, func(_ context.Context, c Call) (Result, error) { return Text("x"), fmt.Errorf("no %s", c.Text("what")) })
	e.Tool(Tool{Name: "panic"}, func(context.Context, Call) (Result, error) { panic("lost") })
	e.Tool(Tool{Name: "big"}, func(context.Context, Call) (Result, error) { return Text(strings.Repeat("x", 5<<20)), nil })
	e.Tool(Tool{Name: "none"}, func(context.Context, Call) (Result, error) { return Result{}, nil })
	p := open(t, e).ready()
	for name, frame := range map[string]string{
		"draw":  `[{"type":"text","text":"a cat"},{"type":"image","mime_type":"image/png","data":"cG5n"}]`,
		"fail":  `[{"type":"text","text":"no rain"}],"is_error":true`,
		"panic": `[{"type":"text","text":"panic: lost"}],"is_error":true`,
		"big":   `[{"type":"text","text":"a frame of 5242950 bytes is over the limit of 4194304"}],"is_error":true`,
		"none":  `[]`,
		"other": `[{"type":"text","text":"no tool other here"}],"is_error":true`,
	} {
		same(t, p.call(`{"type":"tool_call","id":"1","name":"`+name+`","args":{"what":"rain"}}`), `{"type":"tool_result","id":"1","content":`+frame+`}`)
	}
}

func TestLongNumbersInArgumentsKeepTheirDigits(t *testing.T) {
	call := Call{Args: json.RawMessage(`{"n":12345678901234567890}`)}
	var args map[string]any
	if err := call.Bind(&args); err != nil || fmt.Sprint(args["n"]) != "12345678901234567890" {
		t.Errorf("got %v, %v", args, err)
	}
}

func TestAnInterceptorThatFailsBlocks(t *testing.T) {
	e := newExtension("t", "1")
	e.Intercept("tool_call", func(_ context.Context, event Event) (Verdict, error) {
		switch event.Arg("command") {
		case "rm":
			return Block("no rm"), nil
		case "su":
			return Modify(map[string]any{"command": "ls"}), nil
		case "error":
			return Allow(), errors.New("no policy")
		case "panic":
			panic("lost")
		}
		return Allow(), nil
	})
	e.Intercept("assistant_message", func(_ context.Context, event Event) (Verdict, error) {
		return Replace(strings.ToUpper(event.Text)), nil
	})
	e.Intercept("before_agent_start", func(_ context.Context, event Event) (Verdict, error) { return Instruct(""), nil })
	p := open(t, e).ready()
	for command, frame := range map[string]string{
		"ls":    ``,
		"rm":    `,"block":true,"reason":"no rm"`,
		"su":    `,"modified_args":{"command":"ls"}`,
		"error": `,"block":true,"reason":"no policy"`,
		"panic": `,"block":true,"reason":"intercept panic: lost"`,
	} {
		same(t, p.call(`{"type":"event_intercept","id":"1","event":"tool_call","tool_name":"bash","tool_args":{"command":"`+command+`"}}`), `{"type":"event_intercept_response","id":"1"`+frame+`}`)
	}
	same(t, p.call(`{"type":"event_intercept","id":"2","event":"assistant_message","text":"a"}`), `{"type":"event_intercept_response","id":"2","replace_text":"A"}`)
	same(t, p.call(`{"type":"event_intercept","id":"3","event":"before_agent_start"}`), `{"type":"event_intercept_response","id":"3","system_prompt":""}`)
	same(t, p.call(`{"type":"event_intercept","id":"4","event":"turn_start"}`), `{"type":"event_intercept_response","id":"4"}`)
	if !strings.Contains(p.log.String(), "goroutine") {
		t.Errorf("the panic's stack is in the log, not %q", p.log)
	}
}

func TestCallsRunSideBySideAndACancelledOneSaysHowFarItHadCome(t *testing.T) {
	e := newExtension("t", "1")
	answered := make(chan struct{})
	e.Tool(Tool{Name: "meet"}, func(ctx context.Context, c Call) (Result, error) {
		if c.ID == "last" {
			return Text(c.ID), nil
		}
		select {
		case <-answered:
		case <-ctx.Done():
		}
		return Text(c.ID), ctx.Err()
	})
	e.Tool(Tool{Name: "wait"}, func(ctx context.Context, _ Call) (Result, error) {
		e.Notify(Info, "waits")
		<-ctx.Done()
		e.Notify(Info, ctx.Err().Error())
		return Text("late"), nil
	})
	p := open(t, e).ready()
	p.call(`{"type":"tool_call","id":"w","name":"wait"}`)
	same(t, p.call(`{"type":"tool_cancel","id":"w"}`), `{"type":"notify","level":"info","message":"context canceled"}`)
	same(t, p.next(), `{"type":"tool_result","id":"w","content":[{"type":"text","text":"late"}]}`)
	for n := 1; n < 50; n++ {
		p.send(fmt.Sprintf(`{"type":"tool_call","id":"%d","name":"meet","args":{}}`, n))
	}
	if first := p.call(`{"type":"tool_call","id":"last","name":"meet","args":{}}`); first["id"] != "last" {
		t.Errorf("the last call answers first, not %v", first)
	}
	close(answered)
	for n := 1; n < 50; n++ {
		if frame := p.next(); frame["type"] != "tool_result" || frame["is_error"] != nil {
			t.Errorf("got %v", frame)
		}
	}
}

func TestEventsAndKeysComeInOrderAndSurviveAPanic(t *testing.T) {
	e := newExtension("t", "1")
	var steps []string
	e.On(func(event Event) {
		steps = append(steps, fmt.Sprint(event.Step))
		if event.Step == 3 {
			panic("three")
		}
	}, "turn_start")
	e.On(func(event Event) { e.Notify(Success, strings.Join(steps, "")+event.Stop) }, "turn_end")
	var typed string
	e.Keys("p", func(key Key) {
		typed += key.Text
		if key.Key == "enter" {
			e.RenderPanel(Panel{ID: "p", Lines: []string{typed}})
		}
	})
	e.Closed("p", func() { e.Submit("closed") })
	p := open(t, e).ready()
	for step := 1; step < 9; step++ {
		p.send(fmt.Sprintf(`{"type":"event","event":"turn_start","step":%d}`, step))
	}
	same(t, p.call(`{"type":"event","event":"turn_end","stop":"end"}`), `{"type":"notify","level":"success","message":"12345678end"}`)
	for _, letter := range "hällo" {
		p.send(fmt.Sprintf(`{"type":"panel_key","panel_id":"p","key":"rune","text":"%c"}`, letter))
	}
	same(t, p.call(`{"type":"panel_key","panel_id":"p","key":"enter"}`), `{"type":"panel_render","panel_id":"p","lines":["hällo"],"footer":""}`)
	same(t, p.call(`{"type":"panel_close","panel_id":"p"}`), `{"type":"submit","text":"closed"}`)
}

func TestShutdownIsAcknowledgedAndRunningCallsFinish(t *testing.T) {
	e := newExtension("t", "1")
	going := make(chan struct{})
	e.Tool(Tool{Name: "slow"}, func(context.Context, Call) (Result, error) {
		e.Notify(Info, "started")
		<-going
		return Text("finished"), nil
	})
	p := open(t, e).ready()
	p.call(`{"type":"tool_call","id":"1","name":"slow"}`)
	same(t, p.call(`{"type":"shutdown"}`), `{"type":"shutdown_ack"}`)
	close(going)
	if frame := p.next(); frame["type"] != "tool_result" {
		t.Errorf("got %v", frame)
	}
	if err := <-p.served; err != nil {
		t.Errorf("got %v", err)
	}
}

func TestBadLinesAreLoggedAndSkipped(t *testing.T) {
	e := newExtension("t", "1")
	e.maxIn = 100_000
	e.Command("echo", "", func(_ context.Context, args string) (Answer, error) { return Display(args), nil })
	p := open(t, e).ready()
	p.send("garbage", "", "  ", "[1]", "7", `{"type":"later"}`, `{"type":7}`, `{"broken":`, `{"type":"shutdown","x":"`+strings.Repeat("x", 300_000)+`"}`)
	same(t, p.call(`{"type":"command_invoked","id":"1","name":"echo","args":"hi"}`), `{"type":"command_response","id":"1","action":"display","display":"hi"}`)
	for _, note := range []string{`"garbage"`, `"[1]"`, `"7"`, "more than 100000 bytes"} {
		if !strings.Contains(p.log.String(), note) {
			t.Errorf("no %s in the log %q", note, p.log)
		}
	}
}

func TestLinesOfMegabytesPassWhole(t *testing.T) {
	e := newExtension("t", "1")
	e.Tool(Tool{Name: "size"}, func(_ context.Context, c Call) (Result, error) {
		return Text(fmt.Sprint(len(c.Text("text")))), nil
	})
	p := open(t, e).ready()
	for _, size := range []int{1, 64<<10 - 60, 64 << 10, 5 << 20} {
		frame := p.call(`{"type":"tool_call","id":"1","name":"size","args":{"text":"` + strings.Repeat("y", size) + `"}}`)
		same(t, frame["content"], fmt.Sprintf(`[{"type":"text","text":"%d"}]`, size))
	}
}

func TestLinesEndWhereTheLimitSays(t *testing.T) {
	in := bufio.NewReaderSize(strings.NewReader("123\n\n1234\n"+strings.Repeat("x", 100)+"\n12\nlast"), 16)
	var got []string
	for {
		line, err := readLine(in, 4)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			line = []byte(err.Error())
		}
		got = append(got, string(line))
	}
	if wanted := []string{"123", "", "1234", "line too long", "12", "last"}; !reflect.DeepEqual(got, wanted) {
		t.Errorf("got %q", got)
	}
}

func TestWhatCannotBeInterceptedIsRefusedAtOnce(t *testing.T) {
	defer func() {
		if cause := recover(); !strings.Contains(fmt.Sprint(cause), "turn_end cannot be intercepted") {
			t.Errorf("got %v", cause)
		}
	}()
	newExtension("t", "1").Intercept("turn_end", nil)
}
