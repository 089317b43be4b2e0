package hook

import (
	"bytes"
	"encoding/json"
)

// Patch names what changes: members given replace whole, members left out keep their value. The members are
// those of the wire: text, media of a message; model, messages, tools, options before a model call; content, tool_calls after it; tool,
// arguments before a tool runs; for_llm, for_user, is_error, ... after it.
type Patch map[string]any

// Answer is what a hook says at every stage but approve_tool. Its zero value is Continue.
type Answer struct {
	action string
	reason string
	patch  Patch
	result *ToolResult
	reply  Patch
	tell   *string
}

// continued is the answer of nearly every call, so it is encoded once.
var continued = []byte(`{"action":"continue"}`)

// Continue leaves everything as it is.
func Continue() Answer { return Answer{} }

// Modify changes what the call is about.
func Modify(patch Patch) Answer { return Answer{action: "modify", patch: patch} }

// Respond answers a tool call in the tool's place; only at before_tool.
func Respond(result ToolResult) Answer { return Answer{action: "respond", result: &result} }

// Deny stops a tool call; the model is told the reason. Only at before_tool.
func Deny(reason string) Answer { return Answer{action: "deny_tool", reason: reason} }

// Reply answers the chat in the model's place; only at on_message.
func Reply(text string, media ...string) Answer {
	reply := Patch{"text": text}
	if len(media) > 0 {
		reply["media"] = media
	}
	return Answer{action: "respond", reply: reply}
}

// Drop lets a message go no further, at on_message and before_send; the chat is told that this hook dropped it and why.
func Drop(reason string) Answer { return Answer{action: "drop", reason: reason} }

// Telling changes what the chat reads of a Drop; empty: nothing.
func (a Answer) Telling(text string) Answer {
	a.tell = &text
	return a
}

// Abort ends the turn; the user is told the reason. Not at before_send.
func Abort(reason string) Answer { return Answer{action: "abort_turn", reason: reason} }

// HardAbort stops the session's whole loop and drops the turn.
func HardAbort(reason string) Answer { return Answer{action: "hard_abort", reason: reason} }

// WithCall changes what the record of a Respond says was called: tool, arguments.
func (a Answer) WithCall(call Patch) Answer {
	a.patch = call
	return a
}

func (a Answer) encode(object string) ([]byte, error) {
	if a.action == "" {
		return continued, nil
	}
	members := map[string]any{"action": a.action}
	if a.reason != "" {
		members["reason"] = a.reason
	}
	if a.patch != nil {
		members[object] = a.patch
	}
	if a.reply != nil {
		members["reply"] = a.reply
	}
	if a.tell != nil {
		members["tell"] = *a.tell
	}
	if a.result != nil {
		members["result"] = a.result
	}
	return encode(members)
}

// Approval is what a hook says at approve_tool. Its zero value refuses.
type Approval struct {
	Approved bool      `json:"approved"`
	Reason   string    `json:"reason,omitempty"`
	Person   *Question `json:"ask,omitempty"`
}

// Question is what a person is asked. Approvers empty: whoever asked for the tool. TTLSeconds 0: hookgate's default.
// Required: how many people have to agree, 0 is one. SelfApproval nil: whoever asked may be one of them where one is
// enough.
type Question struct {
	Title        string   `json:"title,omitempty"`
	Text         string   `json:"text,omitempty"`
	Approvers    []string `json:"approvers,omitempty"`
	TTLSeconds   float64  `json:"ttl_s,omitempty"`
	Required     int      `json:"required,omitempty"`
	SelfApproval *bool    `json:"self_approval,omitempty"`
}

// Approve lets the tool run, unless another approver refuses or a rule wants a person.
func Approve() Approval { return Approval{Approved: true} }

// Refuse is final; nobody is asked.
func Refuse(reason string) Approval { return Approval{Reason: reason} }

// Ask lets a person decide.
func Ask(question Question) Approval { return Approval{Person: &question} }

// MarshalJSON leaves `approved` out of a question: there it would mean a refusal.
func (a Approval) MarshalJSON() ([]byte, error) {
	if a.Person != nil {
		return encode(map[string]any{"ask": a.Person})
	}
	type plain Approval
	return encode(plain(a))
}

// encode is compact JSON that leaves < > & alone: shell commands stay readable in logs.
func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
