package hook

import (
	"path"
	"runtime/debug"
)

// queueSize bounds what a slow event function can leave waiting.
const queueSize = 1024

// queue holds events between the reader, which never waits, and the goroutine that tells them. A full queue
// loses its oldest event and counts it in the next one. One goroutine puts.
type queue struct {
	items   chan Event
	dropped int
}

func newQueue() *queue { return &queue{items: make(chan Event, queueSize)} }

func (q *queue) put(e Event) {
	for {
		e.Dropped += q.dropped
		q.dropped = 0
		select {
		case q.items <- e:
			return
		default:
		}
		select {
		case lost := <-q.items:
			q.dropped = lost.Dropped + 1
		default:
		}
	}
}

func (c *conversation) tellEvents() {
	defer c.tasks.Done()
	for e := range c.events.items {
		for _, f := range c.hook.events {
			if f.wants(e.Kind) {
				c.tell(f, e)
			}
		}
	}
}

func (f eventFunc) wants(kind string) bool {
	for _, glob := range f.globs {
		if ok, _ := path.Match(glob, kind); ok {
			return true
		}
	}
	return false
}

// tell survives a panic: one bad event must not end those after it.
func (c *conversation) tell(f eventFunc, e Event) {
	defer func() {
		if cause := recover(); cause != nil {
			c.hook.log.Printf("panic at event %s: %v\n%s", e.Kind, cause, debug.Stack())
		}
	}()
	f.take(e)
}
