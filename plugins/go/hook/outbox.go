package hook

import (
	"io"
	"sync"
)

// outbox writes whole frames, one writer at a time. A frame that finds the pipe free is written at once by its
// sender; frames that come meanwhile are joined and go out together.
type outbox struct {
	out io.Writer

	mu      sync.Mutex
	waiting []byte
	spare   []byte
	writing bool
	err     error
}

// send takes a frame over. After the first failed write frames are dropped: nobody reads them.
func (o *outbox) send(frame []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.writing {
		o.waiting = append(o.waiting, frame...)
		return
	}
	o.writing = true
	for o.write(frame); len(o.waiting) > 0; o.write(frame) {
		frame, o.waiting, o.spare = o.waiting, o.spare[:0], o.waiting
	}
	o.writing = false
}

// write lets other senders queue while the pipe is busy.
func (o *outbox) write(frame []byte) {
	if o.err != nil {
		return
	}
	o.mu.Unlock()
	_, err := o.out.Write(frame)
	o.mu.Lock()
	o.err = err
}
