"""What a profile allows: a walk over the syntax tree of a command line, every command in it judged in order.

`relaxed` refuses what does not parse and code that comes to an interpreter through a pipe; `standard` also code in a
here-document, `cd` and redirects to files; `read_only` also what is in `looking.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from hookgate.guards.shell import looking
from hookgate.guards.shell.code import awaits_line, command_line, reads_code, script, sourced_input
from hookgate.guards.shell.tree import Word, parsed, too_much, word
from hookgate.guards.shell.wrappers import WRAPPERS, inner
from hookgate.processes.interpreters import INTERPRETERS, SHELLS, program_name
from hookgate.protocol.dataclasses import dataclass, replace

if TYPE_CHECKING:
    from tree_sitter import Node

Profile = Literal["relaxed", "standard", "read_only"]

MAX_DEPTH = 8
"""Commands that run commands that run commands."""

_MOVES = frozenset({"cd", "pushd", "popd", "chdir"})
_STREAMS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/fd/1", "/dev/fd/2"})
_WRITES = frozenset({">", ">>", "&>", "&>>", ">|", ">&", "<>"})
_SHELL_NAMES = frozenset({"$SHELL", "${SHELL}", "$BASH", "${BASH}", "$0"})


@dataclass(frozen=True, slots=True)
class Refusal:
    """`rule` is its name, `reason` a sentence that says what to do instead."""

    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class _At:
    """Where a command stands: `fed` when its input comes from a pipe or stands in the command line itself."""

    profile: Profile
    fed: bool = False
    depth: int = 0

    @property
    def judges_here(self) -> bool:
        """Whether a here-document counts as fed: whoever reads the command reads its code too."""
        return self.profile != "relaxed"

    @property
    def deeper(self) -> _At:
        return replace(self, depth=self.depth + 1)


def judge(line: str, profile: Profile) -> Refusal | None:
    """The first refusal, in the order of the text; None for what may run. Takes time linear in the line, up to a
    bound beyond which it is refused."""
    return _line(line, _At(profile))


def _line(line: str, at: _At) -> Refusal | None:
    if at.depth > MAX_DEPTH:
        return Refusal("depth", f"commands that run commands are judged {MAX_DEPTH} deep. Run the inner one itself")
    unfit = too_much(line)
    if unfit is not None:
        return Refusal("size", f"{unfit}. Split the command, and use write for the content of files")
    root = parsed(line)
    if root is None:
        return Refusal("syntax", "it does not parse as shell. Check quotes, brackets and here-documents")
    waiting = [(root, at)]
    while waiting:
        node, where = waiting.pop()
        refusal = _node(node, where)
        if refusal is not None:
            return refusal
        waiting.extend(reversed(list(_below(node, where))))
    return None


# --- the walk ---------------------------------------------------------------------------------------------------


def _node(node: Node, at: _At) -> Refusal | None:
    match node.type:
        case "command":
            here = any(child.type == "herestring_redirect" for child in node.children)
            return _command(_words(node), replace(at, fed=at.fed or (here and at.judges_here)), _source(node))
        case "file_redirect":
            return _redirect(node, at)
        case _:
            return None


def _words(node: Node) -> list[Word]:
    return [word(child) for field in ("name", "argument") for child in node.children_by_field_name(field)]


def _source(node: Node) -> str:
    name = node.child_by_field_name("name")
    return (name.text or b"").decode("utf-8", "replace").strip('"') if name is not None else ""


def _below(node: Node, at: _At) -> Iterator[tuple[Node, _At]]:
    """The parts of a node, and what they have as input."""
    match node.type:
        case "pipeline":
            # The first one's input is the pipeline's own, every other one's comes from its neighbour.
            for number, child in enumerate(node.named_children):
                yield child, (replace(at, fed=True) if number else at)
        case "redirected_statement":
            yield from _redirected(node, at)
        case "heredoc_redirect":
            for child in node.named_children:
                # `cat <<END | sh`: what comes after the bar stands inside the here-document's own node.
                yield from _behind_heredoc(child, at)
        case "process_substitution":
            fed = (node.text or b"").startswith(b">(")
            yield from ((child, replace(at, fed=at.fed or fed)) for child in node.named_children)
        case _:
            yield from ((child, at) for child in node.named_children)


def _behind_heredoc(node: Node, at: _At) -> Iterator[tuple[Node, _At]]:
    if node.type != "pipeline":
        yield node, at
        return
    yield from ((child, replace(at, fed=True)) for child in node.named_children)


def _redirected(node: Node, at: _At) -> Iterator[tuple[Node, _At]]:
    redirects = [child for child in node.named_children if child.type.endswith("_redirect")]
    fed = at.fed
    for redirect in redirects:
        if redirect.type == "file_redirect":
            if _operator(redirect) == "<":
                fed = any(child.type == "process_substitution" for child in redirect.named_children)
        else:
            fed = fed or at.judges_here
    for child in node.named_children:
        yield child, (at if child.type.endswith("_redirect") else replace(at, fed=fed))


def _operator(node: Node) -> str:
    return next((child.type for child in node.children if not child.is_named), "")


def _redirect(node: Node, at: _At) -> Refusal | None:
    if at.profile == "relaxed" or _operator(node) not in _WRITES:
        return None
    for target in node.children_by_field_name("destination"):
        written = word(target)
        copies = _operator(node) == ">&" and (written.text.isdecimal() or written.text == "-")
        if copies or target.type == "process_substitution" or (written.text in _STREAMS and not written.dynamic):
            continue
        return Refusal("redirect", "output is not redirected to files. Use write, or let it be shown (2>&1 is fine)")
    return None


# --- one command ------------------------------------------------------------------------------------------------


def _command(words: Sequence[Word], at: _At, source: str = "") -> Refusal | None:
    if not words:
        return None
    if at.depth > MAX_DEPTH:
        return Refusal("depth", f"commands that run commands are judged {MAX_DEPTH} deep. Run the inner one itself")
    name, arguments = words[0], words[1:]
    if name.dynamic:
        return _unknown(at, source)
    if name.base in _MOVES and at.profile != "relaxed":
        return Refusal(
            "cd", f"`{name.base}` is not needed: paths are relative to the workspace, where commands start"
        )
    refusal = _fed_code(name.base, arguments, at)
    if refusal is None and at.profile == "read_only":
        refusal = _changes(name.base, arguments)
    return refusal or _nested(name.base, arguments, at)


def _unknown(at: _At, source: str) -> Refusal | None:
    if at.fed and source in _SHELL_NAMES:
        return _fed("the shell")
    if at.profile != "read_only":
        return None
    return Refusal("unknown", "which command this is shows only when it runs. Write its name out")


def _fed(name: str) -> Refusal:
    return Refusal("piped_code", f"code is not fed to {name}. Put it into a file with write, then run the file")


def _fed_code(name: str, arguments: Sequence[Word], at: _At) -> Refusal | None:
    """Code that nobody sees before it runs: from a pipe, a here-document, another command's output."""
    if name in (".", "source", "eval"):
        made = next(iter(arguments), Word(""))
        read = name != "eval" and at.fed and sourced_input(arguments)
        return _fed(name) if read or made.node in ("process_substitution", "command_substitution") else None
    known = program_name(name)
    if known not in INTERPRETERS:
        return _fed(name) if at.fed and _starts_shell(name, arguments) else None
    given = command_line(arguments) if known in SHELLS else None
    if given is not None:
        return _fed(name) if given.node == "command_substitution" else None
    file = script(arguments)
    if file is not None and file.node == "process_substitution":
        return _fed(name)
    return _fed(name) if at.fed and reads_code(known, arguments) else None


def _starts_shell(name: str, arguments: Sequence[Word]) -> bool:
    """`sudo -s`, `su`, `parallel` without a command: their input is what they run."""
    wrapper = WRAPPERS.get(name)
    if wrapper is None or name not in ("sudo", "doas", "su", "parallel", "chroot", "unshare"):
        return False
    found = inner(wrapper, arguments)
    return not found.words and not found.lines


def _changes(name: str, arguments: Sequence[Word]) -> Refusal | None:
    reason = looking.changes(name, arguments) or looking.changes(program_name(name), arguments)
    return Refusal(*reason) if reason is not None else None


def _nested(name: str, arguments: Sequence[Word], at: _At) -> Refusal | None:
    """What this command runs in its turn."""
    if program_name(name) in SHELLS:
        given = command_line(arguments)
        return _given(given, at.deeper) if given is not None else None
    if name == "find":
        return _first(_command(words, replace(at.deeper, fed=False)) for words in looking.executed(arguments))
    wrapper = WRAPPERS.get(name)
    if wrapper is None or (name == "command" and arguments and arguments[0].text in ("-v", "-V")):
        return None
    found, gives_arguments = inner(wrapper, arguments), name in ("xargs", "parallel")
    if gives_arguments and at.fed and found.words and program_name(found.words[0].base) in SHELLS:
        places = {"{}", *(it.text for it in found.options)}
        if awaits_line(found.words[1:], places):
            return _fed(found.words[0].base)
    # What they read are arguments; what they run reads nothing.
    below = replace(at.deeper, fed=at.fed and not gives_arguments)
    return _first((*(_given(line, below) for line in found.lines), _command(found.words, below)))


def _given(line: Word, at: _At) -> Refusal | None:
    if line.whole:
        return _unknown(replace(at, fed=False), "")
    return _line(line.text, at)


def _first(refusals: Iterator[Refusal | None] | Sequence[Refusal | None]) -> Refusal | None:
    return next((it for it in refusals if it is not None), None)
