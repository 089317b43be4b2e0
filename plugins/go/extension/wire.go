package extension

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

var errLineTooLong = errors.New("line too long")

// readLine gives the next line without its LF. One over max is lost and reported as errLineTooLong; the stream goes
// on with the next. The last line may lack its LF.
func readLine(in *bufio.Reader, max int) ([]byte, error) {
	var line []byte
	for size := 0; ; {
		chunk, err := in.ReadSlice('\n')
		size += len(chunk)
		if size <= max+1 {
			line = append(line, chunk...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case size > max+1:
			return nil, errLineTooLong
		case err != nil && size == 0:
			return nil, err
		}
		return bytes.TrimSuffix(line, []byte("\n")), nil
	}
}

// outbox writes whole frames, one writer at a time.
type outbox struct {
	mu  sync.Mutex
	out io.Writer
}

// send encodes and writes; what cannot be encoded or would be too long for the host is an error, and nothing is sent.
func (o *outbox) send(frames ...any) error {
	var lines bytes.Buffer
	for _, frame := range frames {
		before := lines.Len()
		encoder := json.NewEncoder(&lines)
		encoder.SetEscapeHTML(false) // shell commands stay readable in logs
		if err := encoder.Encode(frame); err != nil {
			return err
		}
		if size := lines.Len() - before; size > maxOut {
			return fmt.Errorf("a frame of %d bytes is over the limit of %d", size, maxOut)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	// A host that reads no more closes stdin too, and that ends this process.
	_, _ = o.out.Write(lines.Bytes())
	return nil
}
