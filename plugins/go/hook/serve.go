package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"time"

	"hookgate.internal/plugin/stdio"
)

// grace is how long running functions may finish after stdin has ended; hookgate waits two seconds in all.
const grace = 1500 * time.Millisecond

// shown is how much of a bad line goes to the log.
const shown = 200

// Run answers hookgate on stdin and stdout until stdin ends. It returns the process's exit status.
func (h *Hook) Run() int {
	in, out, err := stdio.Claim()
	if err != nil {
		h.log.Printf("cannot take stdin and stdout: %v", err)
		return 1
	}
	if err := h.Serve(in, out); err != nil {
		h.log.Printf("reading stdin: %v", err)
		return 1
	}
	return 0
}

// Serve answers on any two streams, until in ends; then running functions have a moment to finish before their
// contexts end. It returns what broke the reading, nil at EOF.
func (h *Hook) Serve(in io.Reader, out io.Writer) error {
	c := newConversation(h, out)
	err := c.read(newLines(in, h.maxLine))
	c.finish()
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// conversation is one run of a hook: which calls are running, and the events on their way.
type conversation struct {
	hook   *Hook
	outbox outbox
	events *queue
	slots  chan struct{}
	root   context.Context
	stop   context.CancelFunc
	tasks  sync.WaitGroup

	mu      sync.Mutex
	running map[string]context.CancelFunc
}

func newConversation(h *Hook, out io.Writer) *conversation {
	root, stop := context.WithCancel(context.Background())
	limit := maxRunning
	if h.limit > 0 {
		limit = h.limit
	}
	return &conversation{
		hook:    h,
		outbox:  outbox{out: out},
		events:  newQueue(),
		slots:   make(chan struct{}, limit),
		root:    root,
		stop:    stop,
		running: map[string]context.CancelFunc{},
	}
}

func (c *conversation) read(in *lines) error {
	c.tasks.Add(1)
	go c.tellEvents()
	defer close(c.events.items)
	for {
		line, err := in.next()
		switch {
		case err == nil:
			c.take(line)
		case errors.Is(err, errLineTooLong):
			c.hook.log.Printf("skipped a message of more than %d bytes", in.max)
		default:
			return err
		}
	}
}

func (c *conversation) finish() {
	defer c.stop()
	done := make(chan struct{})
	go func() {
		c.tasks.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(grace):
		c.hook.log.Printf("stdin has ended; some calls have not")
	}
}

func (c *conversation) take(line []byte) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	message, err := parseObject(line)
	method, id := message.text("method"), string(message.get("id"))
	if err != nil || method == "" || id != "" && !json.Valid([]byte(id)) {
		c.hook.log.Printf("skipped a line that is no request: %.*q", shown, line)
		return
	}
	params, err := parseParams(message.get("params"))
	switch notification := id == "" || id == "0" || id == "null"; {
	case err != nil && notification:
		c.hook.log.Printf("skipped %s: %v", method, err)
	case err != nil:
		c.outbox.send(errorFrame(id, invalidParams, err.Error()))
	case notification:
		c.notified(method, params)
	default:
		c.called(id, method, params)
	}
}

func parseParams(raw json.RawMessage) (Params, error) {
	if raw == nil || string(raw) == "null" {
		return Params{}, nil
	}
	members, err := parseObject(raw)
	if err != nil {
		return Params{}, fmt.Errorf("params: %w", err)
	}
	return Params{members}, nil
}

func (c *conversation) notified(method string, params Params) {
	switch method {
	case "hook.cancel":
		c.end(string(params.Raw("id")))
	case "hook.event", "hook.runtime_event":
		c.events.put(event(params))
	}
}

func (c *conversation) called(id, method string, params Params) {
	if method == "hook.hello" {
		c.outbox.send(resultFrame(id, c.hook.hello(params)))
		return
	}
	f := c.hook.find(method)
	if f == nil {
		c.outbox.send(errorFrame(id, methodNotFound, "unknown method "+method))
		return
	}
	ctx := c.begin(id, params.members.integer("deadline_ms"))
	go c.answer(ctx, id, f, params)
}

// begin starts the clock at once: a call that waits for a slot is already late.
func (c *conversation) begin(id string, deadlineMS int64) context.Context {
	ctx, cancel := within(c.root, time.Duration(deadlineMS)*time.Millisecond)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running[id] = cancel
	c.tasks.Add(1)
	return ctx
}

// within ends after a positive time; a v1 host names none.
func within(parent context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit > 0 {
		return context.WithTimeout(parent, limit)
	}
	return context.WithCancel(parent)
}

func (c *conversation) answer(ctx context.Context, id string, f stageFunc, params Params) {
	defer c.tasks.Done()
	result, err := c.run(ctx, f, params)
	if !c.end(id) {
		return
	}
	if err != nil {
		c.outbox.send(errorFrame(id, callFailed, err.Error()))
		return
	}
	c.outbox.send(resultFrame(id, result))
}

func (c *conversation) run(ctx context.Context, f stageFunc, params Params) (result []byte, err error) {
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, errors.New("no slot was free in time")
	}
	defer func() {
		<-c.slots
		if cause := recover(); cause != nil {
			c.hook.log.Printf("panic: %v\n%s", cause, debug.Stack())
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	return f(ctx, params)
}

// end ends a call's context, when it has its answer or at hook.cancel; false where it has ended already, and
// nobody waits for an answer any more.
func (c *conversation) end(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	cancel, waited := c.running[id]
	if waited {
		cancel()
		delete(c.running, id)
	}
	return waited
}
