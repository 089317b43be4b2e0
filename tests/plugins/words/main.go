// Every word of the Go SDK, said when it is asked for. Its neighbours say the same in Python and TypeScript.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"

	"hookgate.internal/plugin/hook"
)

var (
	limit    = 64
	released = make(chan struct{})
	together = make(chan struct{})
	counting sync.Mutex
	running  int
	peak     int
)

func main() {
	h := hook.New("words")
	if text, set := os.LookupEnv("LIMIT"); set {
		limit, _ = strconv.Atoi(text)
		h.Limit(limit)
	}
	h.OnMessage(said)
	h.BeforeLLM(asked)
	h.AfterLLM(replied)
	h.BeforeTool(called)
	h.ApproveTool(judged)
	h.AfterTool(ran)
	h.BeforeSend(sending)
	h.Event(func(e hook.Event) { log.Printf("heard %s after %d", e.Kind, e.Dropped) }, "tool_*", "turn_end")
	h.Tool(hook.ToolSpec{Name: "echo", Description: "Repeats."}, func(_ context.Context, c hook.ToolCall) (hook.ToolResult, error) {
		return hook.ToolResult{ForLLM: c.Text("text")}, nil
	})
	os.Exit(h.Run())
}

func said(_ context.Context, m hook.ChatMessage) (hook.Answer, error) {
	switch m.Text {
	case "modify":
		return hook.Modify(hook.Patch{"text": "changed"}), nil
	case "reply":
		return hook.Reply("answered", "data:,x"), nil
	case "drop":
		return hook.Drop("spam"), nil
	case "silent":
		return hook.Drop("spam").Telling(""), nil
	case "abort":
		return hook.Abort("enough"), nil
	}
	return hook.Continue(), nil
}

func asked(_ context.Context, r hook.LLMRequest) (hook.Answer, error) {
	messages, err := r.Messages()
	messages = append(messages, hook.Message{Role: "user", Content: "also"})
	return hook.Modify(hook.Patch{"model": r.Model + "!", "messages": messages}), err
}

func replied(_ context.Context, r hook.LLMReply) (hook.Answer, error) {
	return hook.Modify(hook.Patch{"content": strings.ToUpper(r.Response.Content)}), nil
}

func called(ctx context.Context, c hook.ToolCall) (hook.Answer, error) {
	switch c.Text("do") {
	case "deny":
		return hook.Deny(fmt.Sprintf("%s %s %s %s", c.Tool, c.ID, c.ChatID(), c.Meta().TurnID)), nil
	case "modify":
		var arguments map[string]any
		err := c.Bind(&arguments)
		arguments["do"] = "changed"
		return hook.Modify(hook.Patch{"arguments": arguments}), err
	case "respond":
		return hook.Respond(hook.ToolResult{
			ForLLM: "for the model", ForUser: "for the user", IsError: true, Media: []string{"data:,x"},
		}), nil
	case "abort":
		return hook.Abort("enough"), nil
	case "hard_abort":
		return hook.HardAbort("enough"), nil
	case "fail":
		return hook.Continue(), errors.New("not today")
	case "wait":
		log.Print("it waits")
		<-ctx.Done()
		log.Print("the wait is over")
		return hook.Deny("too late"), nil
	case "hold":
		<-released
		return hook.Deny("held"), nil
	case "release":
		close(released)
	case "count":
		return hook.Deny(strconv.Itoa(counted())), nil
	case "print":
		return printed(ctx)
	}
	return hook.Continue(), nil
}

func printed(ctx context.Context) (hook.Answer, error) {
	fmt.Println("printed")
	child := exec.CommandContext(ctx, "sh", "-c", "echo from a child; cat")
	child.Stdin, child.Stdout = os.Stdin, os.Stdout
	if err := child.Run(); err != nil {
		return hook.Continue(), err
	}
	rest, err := io.ReadAll(os.Stdin)
	return hook.Deny(fmt.Sprintf("stdin has %d bytes", len(rest))), err
}

func counted() int {
	counting.Lock()
	running++
	peak = max(peak, running)
	if peak == limit {
		select {
		case <-together:
		default:
			close(together)
		}
	}
	counting.Unlock()
	<-together
	counting.Lock()
	defer counting.Unlock()
	running--
	return peak
}

func judged(_ context.Context, c hook.ToolCall) (hook.Approval, error) {
	self := true
	switch c.Text("do") {
	case "approve":
		return hook.Approve(), nil
	case "refuse":
		return hook.Refuse("no"), nil
	case "ask":
		return hook.Ask(hook.Question{
			Title: "Run?", Text: "this", Approvers: []string{"role:ops"}, TTLSeconds: 60, Required: 2, SelfApproval: &self,
		}), nil
	case "fail":
		return hook.Approve(), errors.New("not today")
	}
	return hook.Approval{}, nil
}

func ran(_ context.Context, d hook.ToolDone) (hook.Answer, error) {
	return hook.Modify(hook.Patch{"for_llm": fmt.Sprintf("%s in %d ns", d.Result.ForLLM, d.Duration.Nanoseconds())}), nil
}

func sending(_ context.Context, m hook.ChatMessage) (hook.Answer, error) {
	if m.Text == "drop" {
		return hook.Drop("in reply to " + m.InReplyTo), nil
	}
	return hook.Continue(), nil
}
