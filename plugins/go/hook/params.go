package hook

import (
	"bytes"
	"encoding/json"
	"time"
)

// Params are the members of a call as they came. Only what a function reads is decoded, so a conversation of
// a megabyte costs a hook that looks at the model's name alone next to nothing.
type Params struct{ members object }

// Raw is a member's JSON, nil where there is none. It reaches everything that has no field here.
func (p Params) Raw(name string) json.RawMessage { return p.members.get(name) }

// Meta says which turn a call or an event belongs to.
func (p Params) Meta() Meta {
	var meta Meta
	raw := p.Raw("meta")
	if raw == nil {
		raw = p.Raw("Meta")
	}
	_ = decode(raw, &meta)
	return meta
}

// Channel is where the conversation takes place: telegram, web, ...
func (p Params) Channel() string { return p.members.text("channel") }

// ChatID is which conversation of that channel it is.
func (p Params) ChatID() string { return p.members.text("chat_id") }

// Meta is spelled in PascalCase on the wire. Iteration counts the turn's model calls from 0.
type Meta struct {
	AgentID      string
	TurnID       string
	ParentTurnID string
	SessionKey   string
	Iteration    int
	TracePath    string
	Source       string
}

// ToolCall is a tool about to run. Arguments is a JSON object, with its numbers as they were written.
type ToolCall struct {
	Params
	ID        string
	Tool      string
	Arguments json.RawMessage
}

// Bind decodes the arguments into v. Numbers that land in an interface are json.Number, so none loses a digit.
func (c ToolCall) Bind(v any) error { return exact(c.Arguments, v) }

// Text is a string argument; empty where there is none.
func (c ToolCall) Text(name string) string {
	arguments, err := parseObject(c.Arguments)
	if err != nil {
		return ""
	}
	return arguments.text(name)
}

// ToolDone is a tool that has run; Duration is the execution alone.
type ToolDone struct {
	ToolCall
	Result   ToolResult
	Duration time.Duration
}

// ToolResult is what the model is told (ForLLM) and what the user is shown besides (ForUser).
type ToolResult struct {
	ForLLM          string   `json:"for_llm"`
	ForUser         string   `json:"for_user,omitempty"`
	Silent          bool     `json:"silent"`
	IsError         bool     `json:"is_error"`
	Async           bool     `json:"async,omitempty"`
	Media           []string `json:"media,omitempty"`
	ArtifactTags    []string `json:"artifact_tags,omitempty"`
	ResponseHandled bool     `json:"response_handled,omitempty"`
}

// ChatMessage is what stands in a chat, on its way in or out. Kind: message or steer, answer or output.
type ChatMessage struct {
	Params
	Text      string
	Media     []string
	Kind      string
	MessageID string
	InReplyTo string
}

// LLMRequest is a model call about to be made. Model is written PROVIDER/MODEL by hookgate.
type LLMRequest struct {
	Params
	Model string
}

// Messages is the conversation; the system prompt is its first message.
func (r LLMRequest) Messages() (messages []Message, err error) {
	return messages, decode(r.Raw("messages"), &messages)
}

// Tools is what the model may call; Modify(Patch{"tools": append(tools, spec)}) adds one.
func (r LLMRequest) Tools() (tools []ToolSpec, err error) {
	return tools, decode(r.Raw("tools"), &tools)
}

// Options are temperature, max_tokens and the like; numbers are json.Number.
func (r LLMRequest) Options() (options map[string]any, err error) {
	return options, exact(r.Raw("options"), &options)
}

// LLMReply is what the model said.
type LLMReply struct {
	Params
	Model    string
	Response Message
}

// Message is one entry of a transcript.
type Message struct {
	Role             string         `json:"role"`
	Content          string         `json:"content"`
	Media            []string       `json:"media,omitempty"`
	ReasoningContent string         `json:"reasoning_content,omitempty"`
	ToolCalls        []ProposedCall `json:"tool_calls,omitempty"`
	ToolCallID       string         `json:"tool_call_id,omitempty"`
	IsError          bool           `json:"is_error,omitempty"`
	FinishReason     string         `json:"finish_reason,omitempty"`
}

// ProposedCall is a tool call as the model wrote it: its arguments are still text.
type ProposedCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// ToolSpec describes a tool to the model; Parameters is a JSON Schema, any object where nil.
type ToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

type plainSpec ToolSpec

type wireSpec struct {
	Type     string    `json:"type"`
	Function plainSpec `json:"function"`
}

// MarshalJSON writes the function envelope that chat APIs use.
func (s ToolSpec) MarshalJSON() ([]byte, error) {
	if s.Parameters == nil {
		s.Parameters = json.RawMessage(`{"type":"object"}`)
	}
	return encode(wireSpec{"function", plainSpec(s)})
}

// UnmarshalJSON reads the same envelope.
func (s *ToolSpec) UnmarshalJSON(data []byte) error {
	var spec wireSpec
	err := json.Unmarshal(data, &spec)
	*s = ToolSpec(spec.Function)
	return err
}

// Event is something that happened. Dropped counts the events lost before this one.
type Event struct {
	Params
	Kind    string
	Payload json.RawMessage
	Dropped int
}

func chatMessage(p Params) (ChatMessage, error) {
	var m struct {
		Text      string   `json:"text"`
		Media     []string `json:"media"`
		Kind      string   `json:"kind"`
		MessageID string   `json:"message_id"`
	}
	err := decode(p.Raw("message"), &m)
	return ChatMessage{p, m.Text, m.Media, m.Kind, m.MessageID, p.members.text("in_reply_to")}, err
}

func llmRequest(p Params) LLMRequest { return LLMRequest{p, p.members.text("model")} }

func llmReply(p Params) (reply LLMReply, err error) {
	reply = LLMReply{Params: p, Model: p.members.text("model")}
	return reply, decode(p.Raw("response"), &reply.Response)
}

func toolCall(p Params) ToolCall {
	call := ToolCall{p, p.members.text("tool_call_id"), p.members.text("tool"), p.Raw("arguments")}
	if call.Arguments == nil {
		call.Arguments = json.RawMessage("{}")
	}
	return call
}

func toolDone(p Params) (done ToolDone, err error) {
	done = ToolDone{ToolCall: toolCall(p), Duration: time.Duration(p.members.integer("duration"))}
	return done, decode(p.Raw("result"), &done.Result)
}

// event reads both envelopes, hook.event and hook.runtime_event.
func event(p Params) Event {
	e := Event{Params: p, Kind: p.members.text("Kind"), Payload: p.Raw("Payload")}
	if e.Kind == "" {
		e.Kind, e.Payload = p.members.text("kind"), p.Raw("payload")
	}
	e.Dropped = int(p.members.integer("Dropped"))
	return e
}

// decode takes a missing member for an empty one.
func decode(raw json.RawMessage, v any) error {
	if len(raw) == 0 {
		return nil
	}
	return json.Unmarshal(raw, v)
}

// exact is decode that never makes a float of a number.
func exact(raw json.RawMessage, v any) error {
	if len(raw) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	return decoder.Decode(v)
}
