"""Tool calls that a model wrote into its text. Knows the spellings and the declared names; runs and asks nothing."""

from hookgate.tools.extract.calls import as_proposed, extract_calls
from hookgate.tools.extract.held import CallHoldBack, held_from
from hookgate.tools.extract.values import Extracted, Mode, Problem

__all__ = ["CallHoldBack", "Extracted", "Mode", "Problem", "as_proposed", "extract_calls", "held_from"]
