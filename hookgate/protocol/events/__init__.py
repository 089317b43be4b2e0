"""What observers are told: kinds of events, their payloads, the envelope. Emits nothing."""
