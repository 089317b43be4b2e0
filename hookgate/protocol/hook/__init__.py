"""The hook wire: stages, their questions and answers, the handshake. No I/O."""
