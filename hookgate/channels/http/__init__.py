"""What all that answers over HTTP shares: the server, and the reading of one request."""
