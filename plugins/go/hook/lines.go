package hook

import (
	"bytes"
	"errors"
	"io"
)

const readSize = 64 << 10

var errLineTooLong = errors.New("line too long")

// lines splits a stream at LF and searches only new bytes. A line over max is lost and reported once; the
// stream goes on with the next.
type lines struct {
	in       io.Reader
	max      int
	buf      []byte
	start    int // of the line that is being read
	searched int // up to here there is no LF
	skipping bool
	err      error
}

func newLines(in io.Reader, max int) *lines {
	return &lines{in: in, max: max, buf: make([]byte, 0, readSize)}
}

// next gives a copy of the next line, or errLineTooLong, or the stream's end as io.EOF or its error. The last
// line may lack its LF: one that is torn is no JSON.
func (l *lines) next() ([]byte, error) {
	for {
		if end := bytes.IndexByte(l.buf[l.searched:], '\n'); end >= 0 {
			line := l.take(l.searched + end)
			if l.skipping || len(line) > l.max {
				l.skipping = false
				return nil, errLineTooLong
			}
			return bytes.Clone(line), nil
		}
		l.searched = len(l.buf)
		if len(l.buf)-l.start > l.max {
			l.drop()
		}
		if l.err != nil {
			return l.last()
		}
		l.fill()
	}
}

func (l *lines) last() ([]byte, error) {
	if l.skipping || l.start == len(l.buf) {
		return nil, l.err
	}
	return l.take(len(l.buf)), nil
}

func (l *lines) take(end int) []byte {
	line := l.buf[l.start:end]
	l.start = min(end+1, len(l.buf))
	l.searched = l.start
	return line
}

func (l *lines) drop() {
	l.skipping = true
	l.buf, l.start, l.searched = l.buf[:0], 0, 0
}

func (l *lines) fill() {
	l.makeRoom()
	n, err := l.in.Read(l.buf[len(l.buf):cap(l.buf)])
	l.buf, l.err = l.buf[:len(l.buf)+n], err
}

// makeRoom moves the begun line to the front; it doubles a full buffer, and gives a big one back once it is empty.
func (l *lines) makeRoom() {
	rest := l.buf[l.start:]
	switch {
	case len(rest) == 0 && cap(l.buf) > 16*readSize:
		l.buf = make([]byte, 0, readSize)
	case len(rest) > cap(l.buf)/2:
		l.buf = append(make([]byte, 0, 2*cap(l.buf)), rest...)
	default:
		l.buf = append(l.buf[:0], rest...)
	}
	l.searched -= l.start
	l.start = 0
}
