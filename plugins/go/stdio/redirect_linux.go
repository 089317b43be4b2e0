package stdio

import "syscall"

// redirect uses dup3: arm64 and newer Linux ports have no dup2.
func redirect(from, to int) error { return syscall.Dup3(from, to, 0) }
