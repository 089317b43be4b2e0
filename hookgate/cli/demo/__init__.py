"""`hookgate demo`: a scripted model, a folder made for the occasion, and real hook processes."""
