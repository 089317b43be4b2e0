"""extension.json: what it may say, and in which words it is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hookgate.extensions.manifest import (
    MAX_BYTES,
    BadManifest,
    Manifest,
    NoManifest,
    name_mistake,
    parse_manifest,
    read_manifest,
)

WEATHER = {
    "name": "weather",
    "version": "1.0.0",
    "exec": "./weather",
    "args": ["--mode", "daemon"],
    "language": "go",
    "description": "current weather",
    "enabled": False,
}


def written(**members: Any) -> bytes:
    return json.dumps({"name": "x", "exec": "./x", **members}).encode()


def test_every_member_is_read_and_strange_ones_mean_nothing() -> None:
    manifest = parse_manifest(json.dumps({**WEATHER, "skills": ["a"], "min_zot": 3}).encode())
    assert manifest == Manifest(
        "weather",
        "./weather",
        "1.0.0",
        ("--mode", "daemon"),
        "go",
        enabled=False,
        description="current weather",
        skills=("a",),
    )


@pytest.mark.parametrize("members", [{}, {"enabled": None, "version": None, "args": None}, {"enabled": True}])
def test_what_is_not_said_has_its_usual_value(members: dict[str, Any]) -> None:
    assert parse_manifest(written(**members)) == Manifest("x", "./x")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"{", "parse manifest: EOF while parsing an object"),
        (b"", "parse manifest: EOF while parsing a value"),
        (b"[]", "parse manifest: it must be an object, not an array"),
        (b'{"exec": "./x"}', "manifest: name is required"),
        (b'{"name": "", "exec": "./x"}', "manifest: name is required"),
        (b'{"name": " ", "exec": "./x"}', "manifest: name is required"),
        (b'{"name": "x"}', "manifest: exec is required"),
        (b'{"name": "x", "exec": ""}', "manifest: exec is required"),
        (b'{"name": "x", "skills": [7, ""]}', "manifest: exec is required"),
        (b'{"name": 7, "exec": "./x"}', "parse manifest: name must be a string, not a number"),
        (written(args="--fast"), "parse manifest: args must be an array, not a string"),
        (written(args=["a", 1]), "parse manifest: args[1] must be a string, not a number"),
        (written(args=["a\0b"]), "parse manifest: args[0] must not hold a null character"),
        (written(enabled="no"), "parse manifest: enabled must be true or false, not a string"),
        (written(name="a/b"), "manifest: name 'a/b' must not hold a slash"),
        (written(name=".."), "manifest: name '..' must not begin with a dot"),
        (b"\xff\xfe", "parse manifest: "),
    ],
)
def test_a_bad_manifest_is_refused_in_these_words(data: bytes, text: str) -> None:
    with pytest.raises(BadManifest) as refused:
        parse_manifest(data)
    assert str(refused.value).startswith(text)


@pytest.mark.parametrize("name", ["../x", "a\\b", "a\nb", "a\x7fb", "a\u202eb", "a\u2028b", ".hidden", "n" * 201])
def test_a_name_that_would_lead_elsewhere_or_deceive_is_refused(name: str) -> None:
    assert name_mistake(name)
    with pytest.raises(BadManifest, match="manifest: name"):
        parse_manifest(written(name=name))


def test_a_name_that_the_locale_cannot_write_is_refused_and_raises_nothing() -> None:
    program = (
        "from hookgate.extensions.manifest import name_mistake; print(name_mistake('\\u65e5'), name_mistake('a'))"
    )
    plain = {**os.environ, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    ended = subprocess.run([sys.executable, "-c", program], env=plain, capture_output=True, timeout=60, check=True)
    assert b"no file's name can have under this locale" in ended.stdout
    assert ended.stdout.endswith(b" None\n")


@pytest.mark.parametrize("name", ["weather", "todo-panel", "a.b", "hello world", "Ünïcode", "n" * 200])
def test_other_names_are_fine(name: str) -> None:
    assert parse_manifest(written(name=name)).name == name


@pytest.mark.parametrize(
    ("program", "started"),
    [
        ("/opt/weather", "/opt/weather"),
        ("./weather", "/ext/weather"),
        ("bin/weather", "/ext/bin/weather"),
        ("../shared/run", "/ext/../shared/run"),
        ("node", "node"),
        ("weather.py", "weather.py"),
    ],
)
def test_exec_is_absolute_or_beside_the_manifest_or_from_path(program: str, started: str) -> None:
    manifest = parse_manifest(written(exec=program, args=["index.js"]))
    assert manifest.command(Path("/ext")) == (started, "index.js")


@pytest.mark.parametrize("skills", ["a", 7, {"a": 1}, [7, "", "a\0b"]])
def test_skills_that_are_no_paths_are_passed_over(skills: object) -> None:
    assert parse_manifest(written(skills=skills)) == Manifest("x", "./x")


def test_one_that_only_brings_skills_needs_no_program_and_starts_none() -> None:
    manifest = parse_manifest(b'{"name": "x", "exec": " ", "skills": ["a", 7, "b"]}')
    assert (manifest.skills, manifest.command(Path("/ext"))) == (("a", "b"), ())


def test_without_a_file_there_is_no_manifest(tmp_path: Path) -> None:
    with pytest.raises(NoManifest, match=r"read manifest: .*extension\.json: No such file or directory"):
        read_manifest(tmp_path)


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "extension.json")
    with pytest.raises(BadManifest, match=r"read manifest: .*: not a file"):
        read_manifest(tmp_path)


def test_a_folder_of_that_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "extension.json").mkdir()
    with pytest.raises(BadManifest, match="read manifest: "):
        read_manifest(tmp_path)


def test_an_endless_manifest_is_refused(tmp_path: Path) -> None:
    (tmp_path / "extension.json").write_bytes(b" " * (MAX_BYTES + 1))
    with pytest.raises(BadManifest, match=f"over {MAX_BYTES} bytes"):
        read_manifest(tmp_path)
