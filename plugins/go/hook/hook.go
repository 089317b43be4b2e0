// Package hook is the SDK for hookgate hook processes in Go: it speaks protocol v1 on stdin and stdout and
// calls your functions. It does not know what a policy is: what to answer is up to those functions.
//
//	func main() {
//		h := hook.New("guard")
//		h.BeforeTool(func(ctx context.Context, c hook.ToolCall) (hook.Answer, error) {
//			if strings.Contains(c.Text("command"), "rm -rf") {
//				return hook.Deny("rm -rf is not allowed here"), nil
//			}
//			return hook.Continue(), nil
//		})
//		os.Exit(h.Run())
//	}
//
// Every call runs in its own goroutine, so functions must be safe to run side by side. Their context ends when
// hookgate cancels the call or its deadline passes. An error or a panic is a failed call, and hookgate's failure
// policy for this hook decides what that means. Events come in order, on one goroutine.
package hook

import (
	"context"
	"encoding/base64"
	"fmt"
	"log"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"hookgate.internal/plugin/stdio"
)

const (
	// maxLine is what one message may hold; hookgate's own limit for the other direction is 16 MiB.
	maxLine = 64 << 20
	// maxRunning is how many functions run side by side until Limit says otherwise.
	maxRunning = 64
)

// stageNames is in the order in which a message, one tool-calling step and the answer pass them.
var stageNames = []string{"on_message", "before_llm", "after_llm", "before_tool", "approve_tool", "after_tool", "before_send"}

// stageFunc answers one stage call with the JSON of its result.
type stageFunc func(ctx context.Context, params Params) ([]byte, error)

type ownedTool struct {
	spec ToolSpec
	call func(context.Context, ToolCall) (ToolResult, error)
}

type eventFunc struct {
	globs []string
	take  func(Event)
}

// Hook collects functions; Run or Serve lets them answer. Register everything before that.
type Hook struct {
	name    string
	stages  map[string]stageFunc
	before  func(context.Context, ToolCall) (Answer, error)
	tools   []ownedTool
	events  []eventFunc
	limit   int
	maxLine int
	log     *log.Logger

	mediaDir string
}

// New makes a hook and takes the process's stdin and stdout for the wire: from here on, what the program or
// its children print goes to stderr, which hookgate logs, and reading stdin finds it empty.
func New(name string) *Hook {
	_, _, _ = stdio.Claim()
	return newHook(name)
}

func newHook(name string) *Hook {
	return &Hook{
		name:    name,
		stages:  map[string]stageFunc{},
		maxLine: maxLine,
		log:     log.New(os.Stderr, name+": ", 0),
	}
}

// Limit says how many functions run side by side (64 without it), here and in what hookgate sends.
func (h *Hook) Limit(n int) { h.limit = max(1, n) }

// OnMessage is asked about what somebody wrote: Continue, Modify, Reply, Drop, Abort or HardAbort.
func (h *Hook) OnMessage(f func(context.Context, ChatMessage) (Answer, error)) {
	h.onMessage("on_message", f)
}

// BeforeSend is asked about what goes to the chat: Continue, Modify or Drop.
func (h *Hook) BeforeSend(f func(context.Context, ChatMessage) (Answer, error)) {
	h.onMessage("before_send", f)
}

func (h *Hook) onMessage(stage string, f func(context.Context, ChatMessage) (Answer, error)) {
	h.on(stage, func(ctx context.Context, p Params) ([]byte, error) {
		message, err := chatMessage(p)
		if err != nil {
			return nil, err
		}
		return answered(ctx, "message", f, message)
	})
}

// BeforeLLM is asked before a model call: Continue, Modify, Abort or HardAbort.
func (h *Hook) BeforeLLM(f func(context.Context, LLMRequest) (Answer, error)) {
	h.on("before_llm", func(ctx context.Context, p Params) ([]byte, error) {
		return answered(ctx, "request", f, llmRequest(p))
	})
}

// AfterLLM is asked when the model has replied: Continue, Modify, Abort or HardAbort.
func (h *Hook) AfterLLM(f func(context.Context, LLMReply) (Answer, error)) {
	h.on("after_llm", func(ctx context.Context, p Params) ([]byte, error) {
		reply, err := llmReply(p)
		if err != nil {
			return nil, err
		}
		return answered(ctx, "response", f, reply)
	})
}

// BeforeTool is asked before a tool runs: any Answer. Calls of this hook's own tools do not come here.
func (h *Hook) BeforeTool(f func(context.Context, ToolCall) (Answer, error)) {
	if h.before != nil {
		panic("hook: before_tool already has its function")
	}
	h.before = f
	h.stages["before_tool"] = h.beforeTool
}

// ApproveTool is asked whether a tool may run: Approve, Refuse or Ask.
func (h *Hook) ApproveTool(f func(context.Context, ToolCall) (Approval, error)) {
	h.on("approve_tool", func(ctx context.Context, p Params) ([]byte, error) {
		approval, err := f(ctx, toolCall(p))
		if err != nil {
			return nil, err
		}
		return encode(approval)
	})
}

// AfterTool is asked when a tool has run: Continue, Modify, Abort or HardAbort.
func (h *Hook) AfterTool(f func(context.Context, ToolDone) (Answer, error)) {
	h.on("after_tool", func(ctx context.Context, p Params) ([]byte, error) {
		done, err := toolDone(p)
		if err != nil {
			return nil, err
		}
		return answered(ctx, "result", f, done)
	})
}

// Event is told of events whose kind matches one of the globs, or of all without globs. Panics on a bad glob.
func (h *Hook) Event(f func(Event), globs ...string) {
	if len(globs) == 0 {
		globs = []string{"*"}
	}
	for _, glob := range globs {
		if _, err := path.Match(glob, ""); err != nil {
			panic(fmt.Sprintf("hook: bad event glob %q", glob))
		}
	}
	h.events = append(h.events, eventFunc{globs, f})
}

// Tool adds a tool to what the model may call; f answers its calls. An error from f is what the model is told.
func (h *Hook) Tool(spec ToolSpec, f func(context.Context, ToolCall) (ToolResult, error)) {
	h.tools = append(h.tools, ownedTool{spec, f})
	h.stages["before_tool"] = h.beforeTool
}

var medium = regexp.MustCompile(`^media:[^:/]+/[^:/]+:([0-9a-f]{64})(:[^:]*)?$`)

// File is what one of a message's Media holds: a media:TYPE:HASH, which lies in hookgate's folder of files, or a data: URL in
// base64.
func (h *Hook) File(address string) ([]byte, error) {
	if head, body, ok := strings.Cut(address, ","); ok && strings.HasPrefix(head, "data:") && strings.HasSuffix(head, ";base64") {
		return base64.StdEncoding.DecodeString(body)
	}
	found := medium.FindStringSubmatch(address)
	if found == nil || h.mediaDir == "" {
		return nil, fmt.Errorf("%.80q holds no file that this hook can read", address)
	}
	return os.ReadFile(filepath.Join(h.mediaDir, found[1][:2], found[1]))
}

func (h *Hook) on(name string, f stageFunc) {
	if h.stages[name] != nil {
		panic("hook: " + name + " already has its function")
	}
	h.stages[name] = f
}

// find is the function for a method. A host that does not know hello's `stages` also calls those that have none: there the
// hook has nothing to say, except at approve_tool, where saying nothing must not approve.
func (h *Hook) find(method string) stageFunc {
	name := strings.TrimPrefix(method, "hook.")
	if f := h.stages[name]; f != nil && name != method {
		return f
	}
	if slices.Contains(stageNames, name) && name != method && name != "approve_tool" {
		return passOn
	}
	return nil
}

func passOn(context.Context, Params) ([]byte, error) { return continued, nil }

func (h *Hook) beforeTool(ctx context.Context, p Params) ([]byte, error) {
	c := toolCall(p)
	for _, tool := range h.tools {
		if tool.spec.Name == c.Tool {
			return answered(ctx, "call", tool.respond, c)
		}
	}
	if h.before == nil {
		return continued, nil
	}
	return answered(ctx, "call", h.before, c)
}

func (t ownedTool) respond(ctx context.Context, c ToolCall) (Answer, error) {
	result, err := t.call(ctx, c)
	if err != nil {
		result = ToolResult{ForLLM: err.Error(), IsError: true}
	}
	return Respond(result), nil
}

// ask is the shape of every function that answers a stage.
type ask[T any] func(context.Context, T) (Answer, error)

// answered asks f about what; object names the member that a patch travels in at this stage.
func answered[T any](ctx context.Context, object string, f ask[T], what T) ([]byte, error) {
	answer, err := f(ctx, what)
	if err != nil {
		return nil, err
	}
	return answer.encode(object)
}
