//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import (
	"os"
	"syscall"
)

// claim also covers what took hold of os.Stdout earlier, as a logger in a package variable does: descriptor 1
// itself becomes stderr, and 0 becomes empty.
func claim() (in, out *os.File, err error) {
	unblock(os.Stdin)
	if in, err = private(0, "wire in"); err != nil {
		return nil, nil, err
	}
	if out, err = private(1, "wire out"); err != nil {
		return nil, nil, err
	}
	empty, err := os.Open(os.DevNull)
	if err != nil {
		return nil, nil, err
	}
	defer empty.Close()
	if err = redirect(int(empty.Fd()), 0); err != nil {
		return nil, nil, err
	}
	return in, out, redirect(2, 1)
}

// private gives a copy of a descriptor that child processes do not inherit. The lock keeps a fork from
// happening between the two calls.
func private(fd int, name string) (*os.File, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	copied, err := syscall.Dup(fd)
	if err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	syscall.CloseOnExec(copied)
	return os.NewFile(uintptr(copied), name), nil
}

// unblock lets the Go scheduler wait for a pipe instead of giving it a thread. Only a pipe's end is ours alone; a
// terminal's mode is everybody's.
func unblock(in *os.File) {
	info, err := in.Stat()
	if err == nil && info.Mode()&os.ModeNamedPipe != 0 {
		_ = syscall.SetNonblock(int(in.Fd()), true)
	}
}
