package extension

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"hookgate.internal/plugin/stdio"
)

// grace is how long running functions may finish after shutdown; the host waits two seconds in all.
const grace = 1500 * time.Millisecond

const (
	// maxRunning functions run side by side; more calls wait for their turn.
	maxRunning = 64
	// queueSize bounds what a slow event function can leave waiting; then the oldest is lost.
	queueSize = 1024
	// shown is how much of a bad line goes to the log.
	shown = 200
)

// Run answers the host until shutdown, the end of stdin or SIGTERM. It returns the process's exit status.
func (e *Extension) Run() int {
	in, out, err := stdio.Claim()
	if err != nil {
		e.log.Printf("cannot take stdin and stdout: %v", err)
		return 1
	}
	stopped, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- e.Serve(in, out) }()
	select {
	case err = <-done:
	case <-stopped.Done():
	}
	if err != nil {
		e.log.Printf("reading stdin: %v", err)
		return 1
	}
	return 0
}

// Serve answers on any two streams until shutdown or the end of in; then running functions have a moment to finish
// before their contexts end. It returns what broke the reading, nil at EOF.
func (e *Extension) Serve(in io.Reader, out io.Writer) error {
	e.outbox.out = out
	c := newConversation(e)
	e.say(e.hello())
	if len(e.starters) == 0 {
		c.register()
	}
	err := c.read(bufio.NewReaderSize(in, 64<<10))
	c.finish()
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// conversation is one run of an extension: which calls are running, and what is on its way to be told.
type conversation struct {
	*Extension
	slots   chan struct{}
	events  chan func()
	presses chan func()
	root    context.Context
	stop    context.CancelFunc
	tasks   sync.WaitGroup

	running map[string]context.CancelFunc // of tool calls, under mu
}

func newConversation(e *Extension) *conversation {
	root, stop := context.WithCancel(context.Background())
	return &conversation{
		Extension: e,
		slots:     make(chan struct{}, maxRunning),
		events:    make(chan func(), queueSize),
		presses:   make(chan func(), queueSize),
		root:      root,
		stop:      stop,
		running:   map[string]context.CancelFunc{},
	}
}

func (c *conversation) register() {
	if err := c.outbox.send(c.registrations()...); err != nil {
		c.log.Printf("not registered: %v", err)
	}
}

// read ends at shutdown with io.EOF: the host closes stdin right behind it.
func (c *conversation) read(in *bufio.Reader) error {
	c.tasks.Add(2)
	go c.inOrder(c.events)
	go c.inOrder(c.presses)
	defer close(c.events)
	defer close(c.presses)
	for {
		line, err := readLine(in, c.maxIn)
		switch {
		case errors.Is(err, errLineTooLong):
			c.log.Printf("skipped a line of more than %d bytes", c.maxIn)
		case err != nil:
			return err
		case c.take(line):
			return io.EOF
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
		c.log.Print("some calls have not ended")
	}
}

// take tells whether the conversation is over.
func (c *conversation) take(line []byte) bool {
	var f frame
	if len(bytes.TrimSpace(line)) == 0 {
		return false
	}
	if err := json.Unmarshal(line, &f); err != nil && f.Type == "" {
		c.log.Printf("skipped a line that is no frame: %.*q", shown, line)
		return false
	}
	return c.dispatch(f, line)
}

// dispatch ignores frames of other types: newer hosts may send some.
func (c *conversation) dispatch(f frame, line []byte) bool {
	switch f.Type {
	case "hello_ack":
		c.acknowledged(line)
	case "command_invoked":
		c.spawn(c.root, commandLimit, func(ctx context.Context) { c.command(ctx, f) })
	case "tool_call":
		c.spawn(c.begin(f.ID), toolLimit, func(ctx context.Context) { c.tool(ctx, f) })
	case "event_intercept":
		c.spawn(c.root, interceptLimit, func(ctx context.Context) { c.intercept(ctx, f.ID, eventOf(line)) })
	case "tool_cancel":
		c.end(f.ID)
	case "tool_result":
		c.answered(line)
	case "event":
		put(c.events, func() { c.event(eventOf(line)) })
	case "panel_key":
		put(c.presses, func() { c.press(Key{f.PanelID, f.Key, f.Text}) })
	case "panel_close":
		put(c.presses, func() { c.dismissed(f.PanelID) })
	case "shutdown":
		c.say(plain{"shutdown_ack"})
		return true
	}
	return false
}

func (c *conversation) acknowledged(line []byte) {
	var host Host
	if err := json.Unmarshal(line, &host); err != nil {
		c.log.Printf("hello_ack: %v", err)
	}
	c.mu.Lock()
	c.host = host
	c.mu.Unlock()
	if len(c.starters) > 0 {
		c.spawn(c.root, commandLimit, func(context.Context) { c.start(host) })
	}
}

func (c *conversation) start(host Host) {
	for _, f := range c.starters {
		c.quietly(func() { f(host) })
	}
	c.register()
}

// spawn runs f in a goroutine of its own as soon as a slot is free.
func (c *conversation) spawn(parent context.Context, limit time.Duration, f func(context.Context)) {
	c.tasks.Add(1)
	go func() {
		defer c.tasks.Done()
		select {
		case c.slots <- struct{}{}:
		case <-parent.Done():
			return
		}
		defer func() { <-c.slots }()
		ctx, cancel := context.WithTimeout(parent, limit)
		defer cancel()
		f(ctx)
	}()
}

// begin gives a tool call a context that tool_cancel ends.
func (c *conversation) begin(id string) context.Context {
	ctx, cancel := context.WithCancel(c.root)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running[id] = cancel
	return ctx
}

// end tells whether the call was still waited for.
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

func (c *conversation) inOrder(queue chan func()) {
	defer c.tasks.Done()
	for f := range queue {
		f()
	}
}

// put never waits: the reader must see a shutdown. One goroutine puts.
func put(queue chan func(), f func()) {
	for {
		select {
		case queue <- f:
			return
		default:
		}
		select {
		case <-queue:
		default:
		}
	}
}

func eventOf(line []byte) Event {
	var event Event
	_ = json.Unmarshal(line, &event)
	event.Raw = line
	return event
}
