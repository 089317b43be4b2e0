"""What the page asks of its channel, request by request."""
