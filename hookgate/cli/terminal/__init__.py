"""`hookgate chat`: a conversation in a terminal or over a pipe."""
