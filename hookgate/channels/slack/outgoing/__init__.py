"""From the gateway to the platform: texts, files, questions, as calls."""
