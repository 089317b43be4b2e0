package extension

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// What the host waits for an answer; a function's context ends with it.
const (
	commandLimit   = 30 * time.Second
	toolLimit      = 60 * time.Second
	interceptLimit = 5 * time.Second
)

func (c *conversation) command(ctx context.Context, f frame) {
	var args string
	_ = json.Unmarshal(f.Args, &args)
	c.mu.Lock()
	command, known := c.commands[f.Name]
	c.mu.Unlock()
	answer, err := Answer{}, fmt.Errorf("no command /%s here", f.Name)
	if known {
		err = c.guarded(func() (err error) {
			answer, err = command.run(ctx, args)
			return err
		})
	}
	response := answer.frame(f.ID)
	if err != nil {
		response = commandResponse{Type: "command_response", ID: f.ID, Action: "noop", Error: err.Error()}
	}
	c.say(response)
}

func (c *conversation) tool(ctx context.Context, f frame) {
	call := Call{f.ID, f.Name, f.Args}
	if call.Args == nil {
		call.Args = json.RawMessage("{}")
	}
	c.mu.Lock()
	tool, known := c.tools[f.Name]
	c.mu.Unlock()
	result, err := Result{}, fmt.Errorf("no tool %s here", f.Name)
	if known {
		err = c.guarded(func() (err error) {
			result, err = tool.run(context.WithValue(ctx, parentKey{}, f.ID), call)
			return err
		})
	}
	if err != nil {
		result = Fail(err.Error())
	}
	// Of a cancelled call what it returns may be kept; that it failed is no news.
	if !c.end(f.ID) && err != nil {
		return
	}
	if err := c.outbox.send(result.frame(f.ID)); err != nil {
		c.say(Fail(err.Error()).frame(f.ID))
	}
}

// intercept blocks where its function fails: what was to be looked at was not.
func (c *conversation) intercept(ctx context.Context, id string, event Event) {
	c.mu.Lock()
	f := c.intercepts[event.Event]
	c.mu.Unlock()
	verdict := Verdict{}
	if f != nil {
		err := c.guarded(func() (err error) {
			verdict, err = f(ctx, event)
			return err
		})
		if err != nil {
			verdict = Block(blockReason(err))
		}
	}
	if err := c.outbox.send(interceptResponse{"event_intercept_response", id, verdict}); err != nil {
		c.say(interceptResponse{"event_intercept_response", id, Block(err.Error())})
	}
}

func blockReason(err error) string {
	var cause panicked
	if errors.As(err, &cause) {
		return "intercept " + cause.Error()
	}
	return err.Error()
}

func (c *conversation) event(event Event) {
	c.mu.Lock()
	observers := c.observers[event.Event]
	c.mu.Unlock()
	for _, f := range observers {
		c.quietly(func() { f(event) })
	}
}

func (c *conversation) press(key Key) {
	c.mu.Lock()
	f := c.keys[key.PanelID]
	c.mu.Unlock()
	if f != nil {
		c.quietly(func() { f(key) })
	}
}

func (c *conversation) dismissed(panelID string) {
	c.mu.Lock()
	f := c.closers[panelID]
	c.mu.Unlock()
	if f != nil {
		c.quietly(f)
	}
}

type panicked struct{ cause any }

func (p panicked) Error() string { return fmt.Sprintf("panic: %v", p.cause) }

// guarded makes an error of a panic, whose stack goes to the log.
func (c *conversation) guarded(f func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			c.log.Printf("panic: %v\n%s", cause, debug.Stack())
			err = panicked{cause}
		}
	}()
	return f()
}

// quietly is for what nobody waits for: one bad event must not end those after it.
func (c *conversation) quietly(f func()) {
	_ = c.guarded(func() error {
		f()
		return nil
	})
}
