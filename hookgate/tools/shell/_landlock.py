"""Confines its own process with Landlock and becomes the command it is given. Standard library only, run by path.

Usage: python -I -S _landlock.py SPEC COMMAND...; SPEC is JSON: `read` and `write` list paths, `tcp` says whether
TCP stays open. Exit status 125 means that it could not confine itself; the command has not run then.
"""

import ctypes
import json
import os
import stat
import sys

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 24, 38
# What a command of root keeps: chown, dac_override, fowner, fsetid, kill, setgid, setuid, net_bind_service.
# With perfmon or sys_admin it would read the environment of every process, Landlock or not.
_KEPT_CAPABILITIES = frozenset({0, 1, 3, 4, 5, 6, 7, 10})
_RULE_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV

_libc = ctypes.CDLL(None, use_errno=True)


class _Ruleset(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("access", ctypes.c_uint64), ("parent", ctypes.c_int32))


def _call(number: int, *arguments: object) -> int:
    result: int = _libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def _all_rights(abi: int) -> int:
    """Every right on files that this kernel knows: what is not granted below is refused."""
    bits = 13 + (abi >= 2) + (abi >= 3) + (abi >= 5)
    return (1 << bits) - 1


def _create(abi: int, tcp: bool) -> int:
    # Signals and abstract sockets of processes outside stay out of reach from ABI 6 on, TCP from 4 on.
    if not tcp and abi < 4:
        raise OSError("it cannot close TCP on this kernel, as it can from Linux 6.7 on")
    ruleset = _Ruleset(_all_rights(abi), 0 if tcp else 0b11, 0b11 if abi >= 6 else 0)
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    return _call(_CREATE_RULESET, ctypes.byref(ruleset), ctypes.c_size_t(size), ctypes.c_uint32(0))


def _allow(ruleset: int, path: str, access: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
        access &= _OF_FILES
    rule = _PathBeneath(access, descriptor)
    _call(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, ctypes.byref(rule), ctypes.c_uint32(0))
    os.close(descriptor)


def _confine(spec: dict[str, list[str]]) -> None:
    abi = _call(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    ruleset = _create(abi, bool(spec["tcp"]))
    # Names may be listed everywhere; contents only below what `read` and `write` name.
    _allow(ruleset, "/", _READ_DIR)
    for path in spec["read"]:
        _allow(ruleset, path, _READ)
    for path in spec["write"]:
        _allow(ruleset, path, _all_rights(abi))
    for capability in set(range(64)) - _KEPT_CAPABILITIES:
        # Refused to all but root, who alone has any to lose; and for numbers that the kernel does not know.
        _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError("no_new_privs was refused")
    _call(_RESTRICT_SELF, ruleset, ctypes.c_uint32(0))


def main() -> None:
    try:
        _confine(json.loads(sys.argv[1]))
    except OSError as error:
        print(f"the sandbox cannot be set up: {error}", file=sys.stderr)
        sys.exit(125)
    os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606 - becoming the command is what this file is for


if __name__ == "__main__":
    main()
