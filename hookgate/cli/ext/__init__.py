"""`hookgate ext`: extensions, installed, switched, looked into."""
