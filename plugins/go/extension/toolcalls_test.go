package extension

import (
	"context"
	"errors"
	"testing"
)

const ackWithCalls = `{"type":"hello_ack","protocol_version":1,"capabilities":["call_tool"]}`

func reads(t *testing.T) *peer {
	e := newExtension("t", "1")
	e.CallsTools()
	e.Tool(Tool{Name: "outer"}, func(ctx context.Context, c Call) (Result, error) {
		answer, err := e.CallTool(ctx, "read", map[string]string{"path": c.Text("path")})
		if err != nil {
			return Result{}, err
		}
		if answer.IsError {
			return Fail(answer.Text), nil
		}
		return Text("read: " + answer.Text), nil
	})
	return open(t, e)
}

func TestAToolThatItCallsNamesTheCallThatItIsFor(t *testing.T) {
	p := reads(t)
	if hello := p.next(); hello["capabilities"].([]any)[2] != "call_tool" {
		t.Errorf("hello: %v", hello)
	}
	p.ready()
	p.send(ackWithCalls, `{"type":"tool_call","id":"7","name":"outer","args":{"path":"a"}}`)
	call := p.next()
	if call["type"] != "call_tool" || call["parent_id"] != "7" || call["args"].(map[string]any)["path"] != "a" {
		t.Fatalf("call: %v", call)
	}
	p.send(`{"type":"tool_result","id":"nobody","content":[]}`)
	p.send(`{"type":"tool_result","id":"call-1","name":"read","content":[{"type":"text","text":"milk"}]}`)
	result := p.next()
	if result["id"] != "7" || result["content"].([]any)[0].(map[string]any)["text"] != "read: milk" {
		t.Errorf("result: %v", result)
	}
}

func TestACallThatIsWaitedForNoMoreIsCancelled(t *testing.T) {
	p := reads(t).ready()
	p.send(ackWithCalls, `{"type":"tool_call","id":"7","name":"outer","args":{}}`)
	p.next()
	p.send(`{"type":"tool_cancel","id":"7"}`)
	if cancel := p.next(); cancel["type"] != "call_tool_cancel" || cancel["id"] != "call-1" {
		t.Errorf("cancel: %v", cancel)
	}
}

func TestAHostThatRunsNoToolsIsAnError(t *testing.T) {
	e := newExtension("t", "1")
	if _, err := e.CallTool(context.Background(), "read", nil); !errors.Is(err, ErrNoToolCalls) {
		t.Errorf("error: %v", err)
	}
}
