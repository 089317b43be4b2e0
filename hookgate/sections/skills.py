"""`[skills]`: the instructions that a model may load."""

from hookgate.sections.section import Section, Several


class SkillsSection(Section):
    """`enabled`: unset, a chat and `hookgate rpc` have them and a daemon has not. `project`: whether those of the
    workspace count; `folders`: more places, asked before the usual ones."""

    enabled: bool | None = None
    project: bool = True
    folders: Several[str] = ()
