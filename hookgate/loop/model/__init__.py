"""One call of the model: what it is asked, how often, and what of the conversation still fits."""
