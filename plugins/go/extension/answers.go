package extension

import "encoding/base64"

// Answer is what a command leads to. Its zero value means nothing.
type Answer struct {
	action string
	text   string
	panel  *Panel
}

// Noop means that nothing follows.
func Noop() Answer { return Answer{} }

// Prompt is a new message of the user's, which the model answers.
func Prompt(text string) Answer { return Answer{action: "prompt", text: text} }

// Insert is text for the editor, not sent yet.
func Insert(text string) Answer { return Answer{action: "insert", text: text} }

// Display is a note for people; the model never sees it.
func Display(text string) Answer { return Answer{action: "display", text: text} }

// Show opens a panel.
func Show(panel Panel) Answer { return Answer{action: "open_panel", panel: &panel} }

type commandResponse struct {
	Type    string `json:"type"`
	ID      string `json:"id"`
	Action  string `json:"action"`
	Prompt  string `json:"prompt,omitempty"`
	Insert  string `json:"insert,omitempty"`
	Display string `json:"display,omitempty"`
	Panel   *Panel `json:"open_panel,omitempty"`
	Error   string `json:"error,omitempty"`
}

func (a Answer) frame(id string) commandResponse {
	response := commandResponse{Type: "command_response", ID: id, Action: a.action}
	switch a.action {
	case "":
		response.Action = "noop"
	case "prompt":
		response.Prompt = a.text
	case "insert":
		response.Insert = a.text
	case "display":
		response.Display = a.text
	case "open_panel":
		panel := a.panel.sent()
		response.Panel = &panel
	}
	return response
}

// Verdict is what an interceptor says. Its zero value lets it happen.
type Verdict struct {
	Block        bool    `json:"block,omitempty"`
	Reason       string  `json:"reason,omitempty"`
	ModifiedArgs any     `json:"modified_args,omitempty"`
	ReplaceText  string  `json:"replace_text,omitempty"`
	SystemPrompt *string `json:"system_prompt,omitempty"`
}

// Allow lets it happen as it is.
func Allow() Verdict { return Verdict{} }

// Block keeps it from happening; of a tool call the model is told the reason.
func Block(reason string) Verdict { return Verdict{Block: true, Reason: reason} }

// Modify lets a tool call run with these arguments, which must be a JSON object.
func Modify(args any) Verdict { return Verdict{ModifiedArgs: args} }

// Replace shows people this text instead of the model's.
func Replace(text string) Verdict { return Verdict{ReplaceText: text} }

// Instruct gives the session this system prompt; an empty one is none.
func Instruct(prompt string) Verdict { return Verdict{SystemPrompt: &prompt} }

type interceptResponse struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	Verdict
}

// Result is what a tool gives the model.
type Result struct {
	parts   []part
	isError bool
}

type part struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	MimeType string `json:"mime_type,omitempty"`
	Data     string `json:"data,omitempty"`
}

// Text is a result of text.
func Text(text string) Result { return Result{parts: []part{{Type: "text", Text: text}}} }

// Fail is a result that is an error; the model is told the text.
func Fail(text string) Result {
	result := Text(text)
	result.isError = true
	return result
}

// WithImage adds a picture.
func (r Result) WithImage(mimeType string, data []byte) Result {
	picture := part{Type: "image", MimeType: mimeType, Data: base64.StdEncoding.EncodeToString(data)}
	r.parts = append(r.parts[:len(r.parts):len(r.parts)], picture)
	return r
}

type toolResult struct {
	Type    string `json:"type"`
	ID      string `json:"id"`
	Content []part `json:"content"`
	IsError bool   `json:"is_error,omitempty"`
}

func (r Result) frame(id string) toolResult {
	parts := r.parts
	if parts == nil {
		parts = []part{}
	}
	return toolResult{"tool_result", id, parts, r.isError}
}
