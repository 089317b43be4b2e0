"""Skills: folders of instructions that a model loads when it needs them. Text alone; nothing of them is ever run."""
