package hook

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"reflect"
	"sync"
	"testing"
	"time"
)

// patience bounds every wait of these tests.
const patience = 10 * time.Second

// peer is hookgate's end of a hook that runs in this process.
type peer struct {
	t       *testing.T
	in      *io.PipeWriter
	replies chan map[string]any
	done    chan error
	log     *notes
}

// notes is a log that a test may read while the hook writes.
type notes struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (n *notes) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(p)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}

func open(t *testing.T, h *Hook) *peer {
	t.Helper()
	in, toHook := io.Pipe()
	fromHook, out := io.Pipe()
	p := &peer{t, toHook, make(chan map[string]any, 1000), make(chan error, 1), &notes{}}
	h.log = log.New(p.log, "", 0)
	go p.read(fromHook)
	go func() {
		p.done <- h.Serve(in, out)
		out.Close()
	}()
	t.Cleanup(func() { toHook.Close() })
	return p
}

func (p *peer) read(from io.Reader) {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			close(p.replies)
			return
		}
		reply := map[string]any{}
		if err := json.Unmarshal(line, &reply); err != nil {
			reply["torn"] = string(line)
		}
		p.replies <- reply
	}
}

func (p *peer) send(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) request(id int, method, params string) {
	p.t.Helper()
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params))
}

// next is the next reply, whichever call it answers.
func (p *peer) next() map[string]any {
	p.t.Helper()
	select {
	case reply, ok := <-p.replies:
		if !ok {
			p.t.Fatal("the hook has closed its output")
		}
		return reply
	case <-time.After(patience):
		p.t.Fatal("no reply in time")
	}
	return nil
}

func (p *peer) call(id int, method, params string) map[string]any {
	p.t.Helper()
	p.request(id, method, params)
	return p.next()
}

// closed ends stdin and waits until Serve has returned.
func (p *peer) closed() error {
	p.t.Helper()
	p.in.Close()
	select {
	case err := <-p.done:
		return err
	case <-time.After(patience):
		p.t.Fatal("Serve did not return in time")
	}
	return nil
}

func await[T any](t *testing.T, from <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-from:
	case <-time.After(patience):
		t.Fatal("nothing came in time")
	}
	return value
}

// same compares what was decoded with what JSON text means.
func same(t *testing.T, got any, want string) {
	t.Helper()
	var wanted any
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, wanted) {
		text, _ := json.Marshal(got)
		t.Errorf("got  %s\nwant %s", text, want)
	}
}
