package extension

import (
	"bytes"
	"encoding/json"
)

// Level is how a note is shown.
type Level string

// The levels that hosts know.
const (
	Info    Level = "info"
	Success Level = "success"
	Warn    Level = "warn"
	Error   Level = "error"
)

// Panel is lines of text that a user looks at and presses keys in. An empty title keeps the one that is shown.
type Panel struct {
	ID     string   `json:"id"`
	Title  string   `json:"title"`
	Lines  []string `json:"lines"`
	Footer string   `json:"footer"`
}

// Key is pressed in a panel: up down left right enter tab backspace delete home end pageup pagedown, or `rune` with
// its Text. Esc is never sent: it closes the panel.
type Key struct {
	PanelID string
	Key     string
	Text    string
}

// Event is what happened, or at an interception is about to.
type Event struct {
	Event        string          `json:"event"`
	ToolID       string          `json:"tool_id"`
	ToolName     string          `json:"tool_name"`
	ToolArgs     json.RawMessage `json:"tool_args"`
	Step         int             `json:"step"`
	Text         string          `json:"text"`
	Stop         string          `json:"stop"`
	Error        string          `json:"error"`
	Reason       string          `json:"reason"`
	SystemPrompt string          `json:"system_prompt"`
	// Raw is the whole frame, for the members of other kinds of events.
	Raw json.RawMessage `json:"-"`
}

// Arg is a string argument of the tool call that an event is about; empty where there is none.
func (e Event) Arg(name string) string { return textOf(e.ToolArgs, name) }

// Call is a tool's call.
type Call struct {
	ID   string
	Name string
	Args json.RawMessage
}

// Bind decodes the arguments into v. Numbers that land in an interface are json.Number, so none loses a digit.
func (c Call) Bind(v any) error {
	decoder := json.NewDecoder(bytes.NewReader(c.Args))
	decoder.UseNumber()
	return decoder.Decode(v)
}

// Text is a string argument; empty where there is none.
func (c Call) Text(name string) string { return textOf(c.Args, name) }

func textOf(raw json.RawMessage, name string) string {
	var members map[string]json.RawMessage
	var text string
	if json.Unmarshal(raw, &members) == nil {
		_ = json.Unmarshal(members[name], &text)
	}
	return text
}

// frame is every member that a host sends in a frame this side answers or acts on.
type frame struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args"`
	PanelID string          `json:"panel_id"`
	Key     string          `json:"key"`
	Text    string          `json:"text"`
}

// What is sent, one value a frame.
type (
	plain struct {
		Type string `json:"type"`
	}
	hello struct {
		Type         string   `json:"type"`
		Name         string   `json:"name"`
		Version      string   `json:"version"`
		Capabilities []string `json:"capabilities"`
	}
	registerCommand struct {
		Type        string `json:"type"`
		Name        string `json:"name"`
		Description string `json:"description,omitempty"`
	}
	registerTool struct {
		Type string `json:"type"`
		Tool
	}
	subscribe struct {
		Type      string   `json:"type"`
		Events    []string `json:"events,omitempty"`
		Intercept []string `json:"intercept,omitempty"`
	}
	notify struct {
		Type    string `json:"type"`
		Level   Level  `json:"level"`
		Message string `json:"message"`
	}
	submit struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	openPanel struct {
		Type  string `json:"type"`
		Panel Panel  `json:"panel"`
	}
	panelClose struct {
		Type    string `json:"type"`
		PanelID string `json:"panel_id"`
	}
	panelRender struct {
		Type    string   `json:"type"`
		PanelID string   `json:"panel_id"`
		Title   string   `json:"title,omitempty"`
		Lines   []string `json:"lines"`
		Footer  string   `json:"footer"`
	}
)

// sent has a list for its lines even where there are none.
func (p Panel) sent() Panel {
	if p.Lines == nil {
		p.Lines = []string{}
	}
	return p
}

func (p Panel) render() panelRender {
	p = p.sent()
	return panelRender{"panel_render", p.ID, p.Title, p.Lines, p.Footer}
}
