"""zot's extension protocol as values: frames both ways, what they mean here, and the peer that reads them. No I/O."""
