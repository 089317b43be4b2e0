"""What is asked of the journal of a running gateway: its messages, what was given up, its record, how it is."""
