"""From the platform to the gateway of hookgate: sessions, what is said in them, when it is stored."""
