"""Runs hookgate by the server whose socket is this program's first word. It imports only what Python has in itself:
its start is a good part of what a short run costs. Signals go on to the run, whose end is this program's."""

# The modules below `socket` and `signal`, which make enumerations of every constant when they are imported.
import _signal
import _socket
import os
import sys

_HANDED_ON = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP)
_INT_BYTES = 4


def main() -> None:
    server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    server.connect(sys.argv[1])
    streams = b"".join(stream.to_bytes(_INT_BYTES, sys.byteorder) for stream in (0, 1, 2))
    server.sendmsg([_asked()], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
    pid = _number(server)
    for number in _HANDED_ON:
        _signal.signal(number, lambda number, _: os.kill(pid, number))
    status = _number(server)
    if status < 0:
        _signal.signal(-status, _signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


def _asked() -> bytes:
    """The folder, how many words there are, the words and the environment, ended by a zero each."""
    words = [os.fsencode(word) for word in sys.argv[2:]]
    variables = [name + b"=" + value for name, value in os.environb.items()]
    return b"".join(item + b"\0" for item in (os.getcwdb(), b"%d" % len(words), *words, *variables))


def _number(server: _socket.socket) -> int:
    """The next line."""
    line = b""
    while (more := server.recv(1)) not in (b"", b"\n"):
        line += more
    return int(line)


main()
