"""hookgate: a gateway whose every model call and tool call passes external hook processes."""

__version__ = "0.1.0"
