// Echo is the floor of the benchmarks: a hook that answers "continue" to whatever has an id, with blocking
// reads and writes and no JSON parser. It knows only frames as hookgate writes them, with the id in front.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
)

// maxLine also bounds the memory: the reader never grows.
const maxLine = 16 << 20

var head = []byte(`{"jsonrpc":"2.0","id":`)

func main() {
	in := bufio.NewReaderSize(os.Stdin, maxLine)
	replies := make([]byte, 0, 64<<10)
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			os.Exit(1)
		}
		replies = appendReply(replies, line)
		if in.Buffered() > 0 && len(replies) < 32<<10 {
			continue
		}
		if _, err := os.Stdout.Write(replies); err != nil {
			os.Exit(1)
		}
		replies = replies[:0]
	}
}

// appendReply adds nothing for a notification.
func appendReply(replies, line []byte) []byte {
	rest, ok := bytes.CutPrefix(line, head)
	end := bytes.IndexByte(rest, ',')
	if !ok || end < 0 {
		return replies
	}
	replies = append(replies, head...)
	replies = append(replies, rest[:end]...)
	return append(replies, `,"result":{"action":"continue"}}`+"\n"...)
}
