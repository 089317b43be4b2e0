"""From the platform to the gateway: events and what they mean, stored before they are acknowledged."""
