"""The guards that ship with hookgate: objects that judge a stage's question. How they become hooks is not theirs."""
