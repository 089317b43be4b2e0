"""Where skills are found: which of one name counts, what is refused, what is read again."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from hookgate.protocol.values import ToolCall
from hookgate.skills import shelf as shelves
from hookgate.skills.place import SkillFolder
from hookgate.skills.shelf import MAX_SKILLS, FoundSkills, Problem, Shelf, arranged
from hookgate.skills.skill import Skill
from hookgate.skills.tool import MAX_LISTED_FILES, SkillTool, skill_spec
from hookgate.tools.dispatch import execute


def written(place: Path, folder: str, name: str, body: str = "Do it.") -> Path:
    file = place / folder / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\nname: {name}\ndescription: About {name}.\n---\n{body}\n")
    return file


def names(found: FoundSkills) -> list[str]:
    return [it.name for it in found.skills]


def test_the_first_of_one_name_counts_in_the_order_of_places_and_folders(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    written(first, "b", "deploy", "mine")
    written(first, "a", "test")
    written(second, "z", "deploy", "theirs")
    (first / "notes").mkdir()
    (first / "README.md").write_text("no skill")
    written(first, ".half", "half")
    found = Shelf().look([SkillFolder(first), SkillFolder(tmp_path / "missing"), SkillFolder(second)])
    assert (names(found), found.problems) == (["test", "deploy"], ())
    assert [(it.skill.folder, it.by) for it in found.shadowed] == [(second / "z", first / "b")]


def test_a_broken_one_is_a_problem_and_the_others_load(tmp_path: Path) -> None:
    written(tmp_path, "good", "good")
    written(tmp_path, "bad", "bad").write_text("no head")
    found = Shelf().look([SkillFolder(tmp_path), SkillFolder(tmp_path / "gone", named=True)])
    assert names(found) == ["good"]
    assert [it.text for it in found.problems] == [
        f"skill load: {tmp_path}/gone: there is no such folder",
        f"skill load: {tmp_path}/bad: it does not begin with a line of three dashes",
    ]


def test_no_link_leads_out_of_its_folder(tmp_path: Path) -> None:
    outside = written(tmp_path / "outside", "evil", "evil")
    place = tmp_path / "project" / "skills"
    (place / "file").mkdir(parents=True)
    (place / "file" / "SKILL.md").symlink_to(outside)
    (place / "folder").symlink_to(outside.parent)
    (place / "nowhere").mkdir()
    (place / "nowhere" / "SKILL.md").symlink_to("gone")
    written(place, "real", "real")
    (place / "same").symlink_to("real")
    (tmp_path / "project" / "linked").symlink_to(tmp_path / "outside")
    found = Shelf().look(
        [SkillFolder(place), SkillFolder(tmp_path / "project" / "linked", within=tmp_path / "project")]
    )
    assert names(found) == ["real"]
    assert [it.skill.folder.name for it in found.shadowed] == ["same"]
    reasons = {it.folder.name: it.reason for it in found.problems}
    assert set(reasons) == {"file", "folder", "nowhere", "linked"}
    assert "leads out" in reasons["file"]
    assert "leads out" in reasons["folder"]
    assert "leads out" in reasons["linked"]
    assert "No such file" in reasons["nowhere"]


def test_a_place_may_be_one_skill(tmp_path: Path) -> None:
    written(tmp_path, "deploy", "deploy")
    written(tmp_path / "deploy", "inner", "inner")
    assert names(Shelf().look([SkillFolder(tmp_path / "deploy")])) == ["deploy"]


def test_there_are_not_more_than_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skills: list[Skill | Problem] = [Skill(f"s{n}", "d", "B", Path(f"s{n}")) for n in range(MAX_SKILLS + 2)]
    found = arranged(skills)
    assert len(found.skills) == MAX_SKILLS
    assert [it.reason for it in found.problems] == [f"there are {MAX_SKILLS} skills already"] * 2
    monkeypatch.setattr(shelves, "MAX_ENTRIES", 2)
    for name in "abc":
        written(tmp_path, name, name)
    crowded = Shelf().look([SkillFolder(tmp_path)])
    assert ([it.reason for it in crowded.problems], crowded.skills) == (["it holds more than 2 names"], ())


def test_what_is_one_too_many_is_not_read_until_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelves, "MAX_SKILLS", 1)
    first, second = written(tmp_path, "a", "a"), written(tmp_path, "b", "b")
    second.write_bytes(b"no skill at all")
    shelf = Shelf()
    full = shelf.look([SkillFolder(tmp_path)])
    assert (names(full), [it.reason for it in full.problems]) == (["a"], ["there are 1 skills already"])
    first.unlink()
    assert "three dashes" in shelf.look([SkillFolder(tmp_path)]).problems[0].reason


def test_a_changed_file_is_read_again_and_an_unchanged_one_is_not(tmp_path: Path) -> None:
    changing, staying = written(tmp_path, "a", "a"), written(tmp_path, "b", "b")
    shelf = Shelf()
    before = shelf.look([SkillFolder(tmp_path)])
    changing.write_text("---\nname: a\ndescription: New.\n---\nOtherwise.\n")
    after = shelf.look([SkillFolder(tmp_path)])
    assert after.skills[0].description == "New."
    assert after.skills[1] is before.skills[1]
    staying.unlink()
    assert names(shelf.look([SkillFolder(tmp_path)])) == ["a"]


# --- the tool -----------------------------------------------------------------------------------------------


async def asked(tool: SkillTool, name: str) -> str:
    with trio.fail_after(20):
        return (await execute(tool, ToolCall("c1", "skill", {"name": name}))).for_llm


async def test_the_tool_gives_the_skill_as_the_file_is_now(tmp_path: Path) -> None:
    file, shelf = written(tmp_path, "deploy", "deploy"), Shelf()

    def look() -> FoundSkills:
        return shelf.look([SkillFolder(tmp_path)])

    tool = SkillTool(skill_spec(look().skills), look, tmp_path / "elsewhere")
    assert await asked(tool, "deploy") == "# Skill: deploy\n\nAbout deploy.\n\n---\n\nDo it."
    file.write_text("---\nname: deploy\ndescription: New.\n---\nOtherwise.\n")
    assert await asked(tool, "deploy") == "# Skill: deploy\n\nNew.\n\n---\n\nOtherwise."
    unknown = await asked(tool, "deplox")
    assert unknown.startswith('ERROR (not_found) skill: skill: no skill named "deplox" (known: deploy)\n')
    assert (await asked(tool, "")).startswith("ERROR (validation) skill: name is required")
    assert tool.spec.read_only


async def test_the_result_says_what_lies_beside_it_where_file_tools_can_read_it(tmp_path: Path) -> None:
    file, shelf = written(tmp_path / "skills", "deploy", "deploy"), Shelf()
    for number in range(MAX_LISTED_FILES + 1):
        (file.parent / f"part{number:02}.md").write_text("")

    def look() -> FoundSkills:
        return shelf.look([SkillFolder(tmp_path / "skills")])

    shown = await asked(SkillTool(skill_spec(look().skills), look, tmp_path), "deploy")
    assert "\n\n---\n\nPaths in this skill count from skills/deploy, where there are: part00.md, part01.md" in shown
    assert shown.endswith("part19.md, ...")
    outside = await asked(SkillTool(skill_spec(look().skills), look, tmp_path / "other"), "deploy")
    assert "part00.md" not in outside
