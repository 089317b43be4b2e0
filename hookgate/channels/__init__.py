"""Places where people chat; one file each."""
