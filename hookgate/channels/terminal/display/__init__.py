"""What a person at a terminal reads: answers as they are rendered, calls as lines, and what is waited for."""
