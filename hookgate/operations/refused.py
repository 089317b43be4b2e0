"""The one error of operations."""

from __future__ import annotations


class OperationRefused(Exception):
    """It is not done; the text is one line for whoever asked."""
