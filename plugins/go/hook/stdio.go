package hook

import (
	"os"
	"sync"
)

// The wire of this process, private once claimed.
var (
	wireIn  *os.File
	wireOut *os.File
	wireErr error
)

// claimOnce moves the wire off file descriptors 0 and 1, where a stray print or a child process could reach it.
var claimOnce = sync.OnceFunc(func() { wireIn, wireOut, wireErr = claim() })
