"""From the platform to the gateway: updates, what they mean, when they are confirmed."""
