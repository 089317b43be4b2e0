"""A model endpoint: how it is connected to, asked and listened to, and what its failures mean."""
