// Package stdio takes a process's stdin and stdout for a wire: what the program or its children print from then on
// goes to stderr. It does not know what is said on the wire.
package stdio

import (
	"os"
	"sync"
)

var (
	in, out *os.File
	problem error
	once    = sync.OnceFunc(func() { in, out, problem = claim() })
)

// Claim gives the wire's two ends, the same ones every time.
func Claim() (*os.File, *os.File, error) {
	once()
	return in, out, problem
}
