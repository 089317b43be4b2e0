"""The program of a dynamic tool: the body that somebody wrote inside a frame that is always the same. Pure.

The frame makes an ordinary hook process of it. That the body stays inside is not trusted but looked up, in the
parsed file.
"""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
import warnings
from functools import cache
from pathlib import Path

from hookgate.tools.dynamic.draft import Draft, invalid
from hookgate.tools.errors import ToolError

_TEMPLATE = Path(__file__).with_name("tool.py.in")
_SPEC_MARK, _BODY_MARK = '"@SPEC@"', '    "@BODY@"\n'
_HEAD = "async def run(args):\n"
_INDENT = "    "
_DETECTED = re.compile(r" \(detected at line \d+\)")


def program_text(draft: Draft) -> str:
    """The whole file. Raises ToolError (validation): with the line of the body where it is no Python."""
    before, after = _frame(draft)
    body = _indented(draft.body)
    # By itself first: next to the frame a string that is not closed would be closed by the frame's.
    _compiled(f"{_HEAD}{body}\n")
    text = f"{before}{body}\n{after}"
    _refuse_breakout(_compiled(text), _compiled(f"{before}{_INDENT}pass\n{after}"))
    return text


def body_of(text: str) -> str:
    """The body inside a program as `program_text` writes it; the whole text where it is none."""
    head, _, rest = text.partition(_HEAD)
    body, end, _ = rest.rpartition("\n\ndef outcome(args):\n")
    return body.strip("\n") if head and end else text


@cache
def _template() -> str:
    return _TEMPLATE.read_text(encoding="utf-8")


def _frame(draft: Draft) -> tuple[str, str]:
    """What stands before and after the body. The spec is a literal of its JSON text, so nothing in it is code."""
    before, _, after = _template().partition(_BODY_MARK)
    spec = json.dumps(draft.members, ensure_ascii=True)
    return before.replace(_SPEC_MARK, ascii(spec)), after


# --- the body -----------------------------------------------------------------------------------------------


def _indented(body: str) -> str:
    """A body that begins in the first column is moved in, but for the inside of strings that span lines."""
    lines = body.rstrip("\n").split("\n")
    first = next((line for line in lines if line.strip() and not line.lstrip().startswith("#")), "")
    if first[:1].isspace():
        return "\n".join(lines)
    inside = _inside_strings("\n".join(lines) + "\n")
    return "\n".join(
        line if number in inside or not line.strip() else _INDENT + line for number, line in enumerate(lines, 1)
    )


def _inside_strings(body: str) -> set[int]:
    """The numbers of lines that begin inside a string. Text that is no Python has none: the parser tells why."""
    inside: set[int] = set()
    begun: list[int] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(body).readline):
            kind = tokenize.tok_name[token.type]
            if kind == "STRING":
                inside.update(range(token.start[0] + 1, token.end[0] + 1))
            elif kind.endswith("STRING_START"):
                begun.append(token.start[0])
            elif kind.endswith("STRING_END"):
                inside.update(range(begun.pop() + 1, token.end[0] + 1))
    except (tokenize.TokenError, SyntaxError, ValueError):
        return set()
    return inside


def _compiled(text: str) -> ast.Module:
    """Parsed, and compiled for what the parser lets pass."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
            compile(text, "tool.py", "exec", dont_inherit=True)
    except SyntaxError as error:
        # Counted from the body's first line; where the parser looked at last is of no use to its writer.
        line, said = max((error.lineno or 0) - _HEAD.count("\n"), 1), _DETECTED.sub("", error.msg)
        raise invalid(f"body, line {line}: {said}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise invalid(f"body: it cannot be compiled: {str(error) or 'it nests too deep'}") from None
    return tree


def _refuse_breakout(tree: ast.Module, frame: ast.Module) -> None:
    """The file has exactly the frame's statements, and everything else is inside `run`."""
    if len(tree.body) != len(frame.body):
        raise _broken_out()
    for ours, theirs in zip(frame.body, tree.body, strict=True):
        if isinstance(ours, ast.AsyncFunctionDef) and isinstance(theirs, ast.AsyncFunctionDef):
            _refuse_generator(theirs)
            theirs.body = ours.body
        if ast.dump(ours) != ast.dump(theirs):
            raise _broken_out()


def _broken_out() -> ToolError:
    return invalid("body: it must stay inside its function: nothing in it may end `async def run(args)`")


def _refuse_generator(function: ast.AsyncFunctionDef) -> None:
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        match node:
            case ast.Yield():
                raise invalid("body: it must return its result, not yield it")
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda() | ast.ClassDef():
                continue
            case _:
                waiting.extend(ast.iter_child_nodes(node))
