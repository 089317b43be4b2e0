"""Files that belong to messages, kept by what is in them."""

from hookgate.store.media.store import FileMedia, MediaLimits

__all__ = ["FileMedia", "MediaLimits"]
