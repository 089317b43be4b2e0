package hook

import (
	"encoding/json"
	"slices"
)

// The JSON-RPC error codes that a hook answers with.
const (
	callFailed     = -32000
	invalidParams  = -32602
	methodNotFound = -32601
)

func resultFrame(id string, result []byte) []byte {
	frame := make([]byte, 0, len(result)+len(id)+40)
	frame = append(frame, `{"jsonrpc":"2.0","id":`...)
	frame = append(frame, id...)
	frame = append(frame, `,"result":`...)
	frame = append(frame, result...)
	return append(frame, "}\n"...)
}

func errorFrame(id string, code int, text string) []byte {
	type failure struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	type reply struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   failure         `json:"error"`
	}
	frame, err := encode(reply{"2.0", json.RawMessage(id), failure{code, text}})
	if err != nil { // only an id that is no JSON, which has nobody to go to
		return nil
	}
	return append(frame, '\n')
}

// greeting is the hello result. A plain v1 host reads ok and name alone.
type greeting struct {
	OK          bool       `json:"ok"`
	Name        string     `json:"name"`
	Stages      []string   `json:"stages"`
	Events      []string   `json:"events"`
	Tools       []ToolSpec `json:"tools,omitempty"`
	Cancel      bool       `json:"cancel"`
	MaxInFlight int        `json:"max_in_flight,omitempty"`
}

func (h *Hook) hello(params Params) []byte {
	var offered []string
	h.mediaDir = params.members.text("media_dir")
	if err := decode(params.Raw("stages"), &offered); err != nil {
		h.log.Printf("hello.stages: %v", err)
	}
	if offered == nil {
		offered = stageNames
	}
	g := greeting{OK: true, Name: h.name, Cancel: true, MaxInFlight: h.limit}
	g.Stages, g.Events = h.wanted(offered), h.eventGlobs()
	for _, tool := range h.tools {
		g.Tools = append(g.Tools, tool.spec)
	}
	result, err := encode(g)
	if err != nil {
		h.log.Printf("a tool's parameters are no JSON: %v", err)
		return []byte(`{"ok":false,"reason":"a tool's parameters are no JSON"}`)
	}
	return result
}

// wanted is which of the offered stages have a function; what has one but is not offered is worth a word.
func (h *Hook) wanted(offered []string) []string {
	wanted := []string{}
	for _, name := range stageNames {
		switch has := h.stages[name] != nil; {
		case has && slices.Contains(offered, name):
			wanted = append(wanted, name)
		case has:
			h.log.Printf("%s has a function but is not in this hook's intercept list", name)
		}
	}
	return wanted
}

func (h *Hook) eventGlobs() []string {
	globs := []string{}
	for _, f := range h.events {
		globs = append(globs, f.globs...)
	}
	return globs
}
