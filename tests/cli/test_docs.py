"""`hookgate docs` shows the pages, from a clone and from a wheel, where each link of theirs still leads somewhere."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from hookgate.cli.pages import fitted, pages
from tests.cli.program import HOOKGATE, open_terminal
from tests.preloaded.running import ran

ROOT = Path(__file__).parents[2]
PIP = (sys.executable, "-m", "pip", "-q", "--disable-pip-version-check")
DEADLINE_S = 240.0


def typed(*words: str, command: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    if not command:
        return ran(*words)
    return subprocess.run([*command, *words], capture_output=True, text=True, timeout=60, check=False)


def test_the_pages_are_listed_with_their_titles() -> None:
    lines = typed("docs").stdout.splitlines()
    assert re.fullmatch(r"people +People", next(line for line in lines if line.startswith("people")))
    names = {line.split()[0] for line in lines[:-1]}
    assert {file.stem for file in (ROOT / "docs").glob("*.md")} | {"README", "python", "go", "typescript"} == names
    assert lines[-1] == "hookgate docs PAGE shows one."
    assert {page["name"] for page in json.loads(typed("docs", "--json").stdout)} == names


@pytest.mark.parametrize("name", ["people", "people.md", "docs/people.md", "People"])
def test_a_page_goes_into_a_pipe_as_it_is_but_for_the_marks_of_tests(name: str) -> None:
    shown = typed("docs", name).stdout
    page = (ROOT / "docs" / "people.md").read_text()
    assert shown.startswith("# People\n")
    assert [line for line in page.splitlines() if not line.startswith("<!--")] == shown.splitlines()


def test_a_page_that_is_not_there_names_those_that_are_called_nearly_so() -> None:
    done = typed("docs", "jurnal")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "hookgate: there is no page 'jurnal'; close: journal: `hookgate docs` lists all\n"
    assert "hook-json-protocol" in typed("docs", "protocol").stderr


@pytest.mark.parametrize(
    ("subject", "names"), [("hooks", ("hook-authors", "hook-json-protocol")), ("sdk", ("go", "python", "typescript"))]
)
def test_a_word_of_a_subject_names_the_pages_about_it(subject: str, names: tuple[str, ...]) -> None:
    close = typed("docs", subject).stderr.partition("; close: ")[2].partition(": `hookgate docs`")[0].split(", ")
    assert {*names} <= {*close}
    assert "tools" not in close


async def test_a_person_at_a_terminal_reads_it_in_a_pager(tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text('#!/bin/sh\nread first\necho "paged: $first"\ncat > /dev/null\n')
    pager.chmod(0o755)
    program = ("/usr/bin/env", f"PAGER={pager}", *HOOKGATE)
    async with open_terminal(tmp_path, "docs", "people", anew=True, program=program) as screen:
        await screen.sees("paged: # People")
        assert await screen.ends() == 0


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment of its own with hookgate's wheel; what that depends on is seen where it is."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [*PIP, "wheel", "--no-index", "--no-deps", "--no-build-isolation", "-w", str(folder), str(ROOT)]
    succeeded(build)
    succeeded([sys.executable, "-m", "venv", "--without-pip", str(folder / "own")])
    (wheel,) = folder.glob("*.whl")
    succeeded([*PIP, "--python", str(folder / "own/bin/python"), "install", "--no-index", "--no-deps", str(wheel)])
    (own,) = (folder / "own" / "lib").glob("python*/site-packages")
    (own / "seen.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "own"


def succeeded(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_wheel_has_the_pages_and_the_sdks_and_no_link_of_a_page_leads_nowhere(
    installed: Path, tmp_path: Path
) -> None:
    program = (str(installed / "bin" / "hookgate"),)
    assert typed("docs", command=program).stdout == typed("docs").stdout
    assert typed("docs", "go", command=program).stdout.startswith("# Hooks in Go\n")
    (share,) = installed.glob("lib/python*/site-packages/hookgate/_share")
    nowhere = [
        (page.relative_to(share).as_posix(), target)
        for page in share.rglob("*.md")
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text())
        if not (page.parent / target).exists()
    ]
    assert nowhere == []
    done = typed("init", "--sdk", "go", str(tmp_path / "gate"), command=program)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "gate" / "hooks" / "guard" / "hookgate" / "hook" / "hook.go").is_file()


FLAGS = "| flag | what it says |\n|---|---|\n| `--model` | which model |\n| `--api-key` | the key of the provider |\n"
LOW = "`--api-key`\n    the key of the\n    provider\n"
KEY = "`--model`    which model\n`--api-key`  the key of the\n             provider\n"
WIDE = "| a | b | c | |\n|---|---|:-:|---|\n| one | second | a third cell | ok |\n| another |  | its third | |\n"


@pytest.mark.parametrize(
    ("width", "page", "shown"),
    [
        (60, FLAGS, FLAGS),
        (36, FLAGS, f"flag         what it says\n{KEY}"),
        (36, FLAGS.replace("what it says", ""), f"flag\n{KEY}"),
        (36, FLAGS.replace("| flag | what it says |", "| | |"), KEY),
        (
            24,
            FLAGS,
            f"flag\n    what it says\n`--model`\n    which model\n{LOW}",
        ),
        (
            24,
            WIDE,
            "a\none\n    b: second\n    c: a third cell\n    ok\nanother\n    c: its third\n",
        ),
    ],
)
def test_a_table_of_a_page_that_is_wider_than_the_screen_is_laid_out(width: int, page: str, shown: str) -> None:
    assert fitted(f"Before it:\n{page}", width) == f"Before it:\n{shown}"


@pytest.mark.parametrize("width", [50, 80])
def test_no_table_of_any_page_has_a_row_that_the_screen_would_cut_in_a_word(width: int) -> None:
    for page in pages():
        text = re.sub("```.*?```", "", fitted(page.file.read_text(), width), flags=re.S)
        wide = [line for line in text.splitlines() if len(line) > width and not line.startswith(("#", "<"))]
        assert [line for line in wide if " " in line.strip()] == [], page.name


def test_prose_of_a_page_goes_on_at_words_and_code_and_what_is_no_table_are_as_they_are() -> None:
    heading, item = "# A heading that is as long as it is\n\n", "- an item that goes on\n  below\n"
    page = f"{heading}Some prose that is\nmuch too long for a line.\n\n{item}"
    code = "```console\n$ a command that is far too long for the screen\n```\n"
    cells = "| a table | that is far too wide |\n"
    assert fitted(page + code + cells, 22) == (
        f"{heading}Some prose that is\nmuch too long for a\nline.\n\n- an item that goes\n  on below\n{code}{cells}"
    )
    assert fitted(page + code + cells, 200) == page + code + cells
