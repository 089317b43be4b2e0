// Package extension is the SDK for zot extensions in Go: it speaks their frames on stdin and stdout and calls your
// functions, under zot and under hookgate. It does not know what a host makes of their answers.
//
//	func main() {
//		e := extension.New("weather", "1.0.0")
//		e.Tool(extension.Tool{Name: "weather", Description: "The weather in a city."},
//			func(ctx context.Context, c extension.Call) (extension.Result, error) {
//				return extension.Text("sunny in " + c.Text("city")), nil
//			})
//		os.Exit(e.Run())
//	}
//
// Every call runs in its own goroutine, so functions must be safe to run side by side. Events come in order, on one
// goroutine, and so do the keys of panels.
package extension

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"os"
	"slices"
	"strings"
	"sync"

	"hookgate.internal/plugin/stdio"
)

// maxIn is what a line from the host may hold.
const maxIn = 16 << 20

// maxOut is what a line to the host may hold: zot hears nothing more of an extension after a longer one.
const maxOut = 4 << 20

// Host is what the host says of itself. Cwd is the project; both directories are the extension's own.
type Host struct {
	ZotVersion   string `json:"zot_version"`
	Provider     string `json:"provider"`
	Model        string `json:"model"`
	Cwd          string `json:"cwd"`
	ExtensionDir string `json:"extension_dir"`
	DataDir      string `json:"data_dir"`
	// Capabilities are those that this extension asked for and the host has.
	Capabilities []string `json:"capabilities"`
}

// Tool describes a tool to the model; Schema is a JSON Schema, any object where nil.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
}

type commandFunc struct {
	description string
	run         func(ctx context.Context, args string) (Answer, error)
}

type toolFunc struct {
	spec Tool
	run  func(context.Context, Call) (Result, error)
}

// Extension collects functions; Run or Serve lets them answer. What is registered later is told to the host at once.
type Extension struct {
	name    string
	version string
	log     *log.Logger
	maxIn   int

	mu         sync.Mutex
	commands   map[string]commandFunc
	tools      map[string]toolFunc
	order      []any // registration frames, as they came
	observers  map[string][]func(Event)
	intercepts map[string]func(context.Context, Event) (Verdict, error)
	keys       map[string]func(Key)
	closers    map[string]func()
	starters   []func(Host)
	host       Host
	outbox     *outbox
	registered bool
	callsTools bool
	awaiting   map[string]chan ToolAnswer
	asked      int
}

// New makes an extension and takes the process's stdin and stdout for the wire: from here on, what the program or
// its children print goes to stderr, which the host keeps in the extension's log, and reading stdin finds it empty.
func New(name, version string) *Extension {
	_, _, _ = stdio.Claim()
	return newExtension(name, version)
}

func newExtension(name, version string) *Extension {
	return &Extension{
		name:       name,
		version:    version,
		log:        log.New(os.Stderr, name+": ", 0),
		maxIn:      maxIn,
		commands:   map[string]commandFunc{},
		tools:      map[string]toolFunc{},
		observers:  map[string][]func(Event){},
		intercepts: map[string]func(context.Context, Event) (Verdict, error){},
		keys:       map[string]func(Key){},
		closers:    map[string]func(){},
		outbox:     &outbox{out: io.Discard},
		awaiting:   map[string]chan ToolAnswer{},
	}
}

// Command is what `/name args` does; args are trimmed. An error is shown.
func (e *Extension) Command(name, description string, f func(ctx context.Context, args string) (Answer, error)) {
	e.register(func() {
		e.commands[name] = commandFunc{description, f}
	}, registerCommand{"register_command", name, description})
}

// Tool adds a tool to what the model may call. An error, and a panic, is what the model is told.
func (e *Extension) Tool(spec Tool, f func(context.Context, Call) (Result, error)) {
	if spec.Schema == nil {
		spec.Schema = json.RawMessage(`{"type":"object"}`)
	}
	e.register(func() { e.tools[spec.Name] = toolFunc{spec, f} }, registerTool{"register_tool", spec})
}

// On is told of these events: session_start, turn_start, turn_end, tool_call, ...
func (e *Extension) On(f func(Event), events ...string) {
	e.register(func() {
		for _, event := range events {
			e.observers[event] = append(e.observers[event], f)
		}
	}, subscribe{Type: "subscribe", Events: events})
}

// Intercept is asked before it happens: tool_call, turn_start, assistant_message or before_agent_start. It has 5 s;
// silence lets it happen, an error or a panic blocks it. Panics for an event that cannot be intercepted.
func (e *Extension) Intercept(event string, f func(context.Context, Event) (Verdict, error)) {
	if !slices.Contains(interceptable, event) {
		panic("extension: " + event + " cannot be intercepted, only " + strings.Join(interceptable, ", "))
	}
	e.register(func() { e.intercepts[event] = f }, subscribe{Type: "subscribe", Intercept: []string{event}})
}

var interceptable = []string{"tool_call", "turn_start", "assistant_message", "before_agent_start"}

// Keys gets each key that is pressed in that panel.
func (e *Extension) Keys(panelID string, f func(Key)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.keys[panelID] = f
}

// Closed is called when the user has closed that panel.
func (e *Extension) Closed(panelID string, f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closers[panelID] = f
}

// Start is called before this extension is ready: f knows the host and may still register commands and tools.
func (e *Extension) Start(f func(Host)) { e.starters = append(e.starters, f) }

// Host is known before any function runs.
func (e *Extension) Host() Host {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.host
}

// DataDir is where this extension keeps its files: its own folder, in which it is started.
func (e *Extension) DataDir() string {
	host := e.Host()
	for _, folder := range []string{host.DataDir, host.ExtensionDir} {
		if folder != "" {
			return folder
		}
	}
	return "."
}

// ProjectDir is where the user works.
func (e *Extension) ProjectDir() string {
	if host := e.Host(); host.Cwd != "" {
		return host.Cwd
	}
	return "."
}

// Notify shows a note beside the conversation; it goes with the user's next prompt.
func (e *Extension) Notify(level Level, message string) { e.say(notify{"notify", level, message}) }

// ClearNotes takes back this extension's notes.
func (e *Extension) ClearNotes() { e.say(plain{"clear_notes"}) }

// Submit sends text as if the user had.
func (e *Extension) Submit(text string) { e.say(submit{"submit", text}) }

// SubmitSlash sends a command as if the user had typed it; it begins with a slash.
func (e *Extension) SubmitSlash(text string) { e.say(submit{"submit_slash", text}) }

// OpenPanel shows a panel; a command can also answer with one.
func (e *Extension) OpenPanel(panel Panel) { e.say(openPanel{"open_panel", panel.sent()}) }

// RenderPanel draws a panel again; the host ignores it for one that is not open.
func (e *Extension) RenderPanel(panel Panel) { e.say(panel.render()) }

// ClosePanel takes it away.
func (e *Extension) ClosePanel(panelID string) { e.say(panelClose{"panel_close", panelID}) }

// Logf writes a line to stderr, which the host keeps in this extension's log.
func (e *Extension) Logf(format string, values ...any) { e.log.Printf(format, values...) }

func (e *Extension) register(put func(), frame any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	put()
	e.order = append(e.order, frame)
	if e.registered {
		e.say(frame)
	}
}

// registrations are all frames up to `ready`; from then on each is sent as it comes.
func (e *Extension) registrations() []any {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.registered = true
	return append(slices.Clone(e.order), plain{"ready"})
}

func (e *Extension) hello() hello {
	has := []struct {
		name string
		some bool
	}{
		{"commands", len(e.commands) > 0 || len(e.starters) > 0},
		{"tools", len(e.tools) > 0 || len(e.starters) > 0},
		{"events", len(e.observers)+len(e.intercepts) > 0 || len(e.starters) > 0},
		{"panels", len(e.keys) > 0},
		{"tool_cancel", len(e.tools) > 0 || len(e.starters) > 0},
		{callsTools, e.callsTools},
	}
	frame := hello{Type: "hello", Name: e.name, Version: e.version, Capabilities: []string{}}
	for _, it := range has {
		if it.some {
			frame.Capabilities = append(frame.Capabilities, it.name)
		}
	}
	return frame
}

func (e *Extension) say(frame any) {
	if err := e.outbox.send(frame); err != nil {
		e.log.Printf("not sent: %v", err)
	}
}
