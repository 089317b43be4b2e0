"""`hookgate tools`: what a model may call, looked at and called by hand."""
