"""Text on its way to a person while the model still writes it."""
