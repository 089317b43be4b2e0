package extension

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ToolAnswer is what became of a tool that this extension called. Text holds the texts of its Content.
type ToolAnswer struct {
	Text      string
	IsError   bool
	Truncated bool
	Content   []json.RawMessage
}

// ErrNoToolCalls: the host runs no tools for this extension. CallsTools asks for it.
var ErrNoToolCalls = errors.New("extension: this host runs no tools for extensions, or was not asked to")

const callsTools = "call_tool"

type (
	callTool struct {
		Type     string `json:"type"`
		ID       string `json:"id"`
		Name     string `json:"name"`
		Args     any    `json:"args"`
		ParentID string `json:"parent_id,omitempty"`
	}
	callToolCancel struct {
		Type string `json:"type"`
		ID   string `json:"id"`
	}
	parentKey struct{}
)

// CallsTools tells the host, if called before Run, that CallTool will be used.
func (e *Extension) CallsTools() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.callsTools = true
}

// CallTool calls any tool of the chat that the running function serves and waits for what becomes of it: the host's
// guards and approvals have their say, and the model hears nothing of it. Pass the context that the function was
// given: it says which call this one belongs to. A tool that fails, or is refused, is an answer; an error means that
// there is none. Args is encoded as a JSON object; nil is an empty one.
func (e *Extension) CallTool(ctx context.Context, name string, args any) (ToolAnswer, error) {
	if args == nil {
		args = struct{}{}
	}
	id, answer, err := e.awaited()
	if err != nil {
		return ToolAnswer{}, err
	}
	defer e.forget(id)
	parent, _ := ctx.Value(parentKey{}).(string)
	if err := e.outbox.send(callTool{callsTools, id, name, args, parent}); err != nil {
		return ToolAnswer{}, err
	}
	select {
	case it := <-answer:
		return it, nil
	case <-ctx.Done():
		e.say(callToolCancel{"call_tool_cancel", id})
		return ToolAnswer{}, ctx.Err()
	}
}

// awaited makes the id of a new call and the place where its answer comes.
func (e *Extension) awaited() (string, chan ToolAnswer, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	works := false
	for _, capability := range e.host.Capabilities {
		works = works || capability == callsTools
	}
	if !works {
		return "", nil, ErrNoToolCalls
	}
	e.asked++
	id, answer := fmt.Sprintf("call-%d", e.asked), make(chan ToolAnswer, 1)
	e.awaiting[id] = answer
	return id, answer, nil
}

func (e *Extension) forget(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.awaiting, id)
}

// answered is told once a call; nobody may wait for it any more.
func (e *Extension) answered(line []byte) {
	var frame struct {
		ID        string            `json:"id"`
		Content   []json.RawMessage `json:"content"`
		IsError   bool              `json:"is_error"`
		Truncated bool              `json:"truncated"`
	}
	if err := json.Unmarshal(line, &frame); err != nil {
		e.log.Printf("tool_result: %v", err)
	}
	e.mu.Lock()
	answer := e.awaiting[frame.ID]
	e.mu.Unlock()
	if answer == nil {
		return
	}
	var texts []string
	for _, block := range frame.Content {
		if text := textOf(block, "text"); text != "" {
			texts = append(texts, text)
		}
	}
	select {
	case answer <- ToolAnswer{strings.Join(texts, "\n"), frame.IsError, frame.Truncated, frame.Content}:
	default:
	}
}
