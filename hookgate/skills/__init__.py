"""Skills: folders of instructions that a model loads when it needs them. Text alone; nothing of them is ever run."""

TOOL = "skill"
"""What the tool that gives them to a model is called."""
