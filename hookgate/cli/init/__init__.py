"""`hookgate init`: the first files of a folder, and what they are made from."""
