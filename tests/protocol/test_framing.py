"""Lines out of chunks: any cut of a stream gives the same lines, and one long line loses only itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookgate.protocol.framing import LineSplitter, Oversize

CAP = 16


def _fed(chunks: list[bytes], cap: int = CAP) -> list[bytes | Oversize]:
    splitter = LineSplitter(cap)
    return [line for chunk in chunks for line in splitter.feed(chunk)]


@pytest.mark.parametrize(
    ("chunks", "lines"),
    [
        ([], []),
        ([b""], []),
        ([b"one"], []),
        ([b"one\n"], [b"one"]),
        ([b"o", b"n", b"e", b"\n"], [b"one"]),
        ([b"one\ntwo\nthr", b"ee\n"], [b"one", b"two", b"three"]),
        ([b"\n\n"], [b"", b""]),
        ([b"one\r\ntwo\r", b"\n"], [b"one", b"two"]),
        ([b"a\rb\n"], [b"a\rb"]),
        ([b"a\r\r\n"], [b"a\r"]),
        (["a\u2028b\u0085c\n".encode()], ["a\u2028b\u0085c".encode()]),
        ([b"one\ntail without end"], [b"one"]),
    ],
)
def test_lines_end_at_lf_and_nowhere_else(chunks: list[bytes], lines: list[bytes]) -> None:
    assert _fed(chunks) == lines


@pytest.mark.parametrize("cut", range(1, CAP + 1))
def test_a_line_of_exactly_the_cap_is_whole_however_it_is_cut(cut: int) -> None:
    line = b"x" * CAP
    assert _fed([line[:cut], line[cut:] + b"\n"]) == [line]


@pytest.mark.parametrize("cut", range(CAP + 3))
def test_one_byte_over_the_cap_loses_that_line_and_reads_the_next(cut: int) -> None:
    stream = b"x" * (CAP + 1) + b"\n"
    assert _fed([stream[:cut], stream[cut:] + b"next\n"]) == [Oversize(CAP + 1, b"x" * (CAP + 1)), b"next"]


def test_two_oversize_lines_in_a_row_are_reported_one_by_one() -> None:
    found = _fed([b"a" * 20 + b"\n" + b"b" * 30, b"b" * 5 + b"\nok\n"])
    assert found == [Oversize(20, b"a" * 20), Oversize(35, b"b" * 30), b"ok"]


def test_a_line_of_many_megabytes_keeps_only_its_head() -> None:
    splitter = LineSplitter(1000)
    for _ in range(64):
        assert splitter.feed(b"z" * 65536) == []
    assert splitter.feed(b"\nok\n") == [Oversize(64 * 65536, b"z" * 4096), b"ok"]


@given(st.lists(st.binary(max_size=40).filter(lambda b: b"\n" not in b), max_size=12), st.data())
def test_any_cut_of_a_stream_gives_the_same_lines(lines: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    chunks = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]

    def shown(found: list[bytes | Oversize]) -> list[bytes | int]:
        return [one.size if isinstance(one, Oversize) else one for one in found]

    expected = [len(line) if len(line) > CAP else line.removesuffix(b"\r") for line in lines]
    assert shown(_fed(chunks)) == shown(_fed([stream])) == expected
