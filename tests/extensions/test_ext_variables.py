"""Which variables code mentions, as people write it in each language, and how much of it is looked through."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hookgate.extensions import variables
from hookgate.extensions.mentions import mentioned
from hookgate.extensions.variables import look_through


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ('os.environ["A_KEY"]', {"A_KEY"}),
        ("environ.get( 'B' , 'x')", {"B"}),
        ('os.getenv("C")', {"C"}),
        ('if "D" not in os.environ:', {"D"}),
        ('os.environ.setdefault("E", "1")', {"E"}),
        ("process.env.F ?? process.env?.G", {"F", "G"}),
        ("process.env['H'] || process.env[`I`]", {"H", "I"}),
        ("const { J, K: renamed, L = 1 } = process.env;", {"J", "K", "L"}),
        ('key := os.Getenv("M"); _, ok := os.LookupEnv(`N`)', {"M", "N"}),
        ('import { argv, env } from "node:process"; env.A; env["B"]; const { C } = env', {"A", "B", "C"}),
        ("import {env as e} from 'process'\ne.A ?? e?.B", {"A", "B"}),
        ('const {env: e, argv} = process; e.A; const {env} = require("process"); env.B', {"A", "B"}),
        ("const env: NodeJS.ProcessEnv = process.env;\nlet b = Bun.env\nenv.A || b.B || Bun.env.C", {"A", "B", "C"}),
        ('Deno.env.get("A") ?? Deno.env.has(`B`)', {"A", "B"}),
        ('"A" in process.env && !("B" in Bun.env)', {"A", "B"}),
        ('from os import environ as env, getenv as get\nenv["A"], env.get("B"), "C" in env, get("D")', set("ABCD")),
        ('env = os.environ  # all\nenv["A"]\nvalues: Mapping[str, str] = environ\nvalues["B"]', {"A", "B"}),
        ('os.ExpandEnv("$A/${B}:$1"); os.ExpandEnv(`$C`)', {"A", "B", "C"}),
        ('const k = "A"\nos.Getenv(k); const other string = "B"; os.LookupEnv(other)', {"A", "B"}),
        ('KEY: str = "A"\nos.environ[KEY]; const l = "B"; process.env[l]; getenv(KEY, "")', {"A", "B"}),
        # Another's env, a name that nothing is given here, a sum, and what only looks alike.
        ('config.env.A; env.B; environ[key]; key.env = process.env.C; env["D"]', {"C"}),
        ('k = "A"\nos.environ[k + "_B"]; os.environ[j]; x.j = "C"; ExpandEnv(a + "$D")', set()),
        ("const {env: {A}} = process; const {B} = process.env.NESTED; process.envs.C; myprocess.env.D", {"NESTED"}),
        ("environment = {'O': 1}; getenv(name); process.environment.P; {Q} = process.envs", set()),
    ],
)
def test_names_are_found_as_each_language_has_them(code: str, names: set[str]) -> None:
    assert mentioned(code) == names


def test_its_own_code_alone_is_looked_through(tmp_path: Path) -> None:
    for path in ("a.py", "src/deep/b.py", "node_modules/lib/c.py", ".git/d.py", "read.me"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(f'os.getenv("{Path(path).stem.upper()}")')
    (tmp_path / "pipe.py").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "wait.py")
    (tmp_path / "bytes.py").write_bytes(b'\xff\xfe os.getenv("BYTES")')
    assert look_through(tmp_path).variables == {"A", "B", "BYTES"}


def test_another_content_is_another_digest_and_there_is_an_end_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.py").write_text('os.getenv("A")')
    before = look_through(tmp_path)
    (tmp_path / "read.me").write_text("os.getenv('NOT_CODE')")
    assert look_through(tmp_path) == before
    (tmp_path / "a.py").write_text('os.getenv("A")  ')
    assert look_through(tmp_path).digest != before.digest
    monkeypatch.setattr(variables, "MAX_FILES", 1)
    (tmp_path / "b.py").write_text('os.getenv("B")')
    assert look_through(tmp_path).variables == {"A"}
