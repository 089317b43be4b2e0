//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package stdio

import "os"

// claim covers what goes through os.Stdout from now on; there is no portable way to move the descriptor itself.
func claim() (in, out *os.File, err error) {
	in, out = os.Stdin, os.Stdout
	os.Stdout = os.Stderr
	return in, out, nil
}
