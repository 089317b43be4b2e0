"""The web page as a place to chat."""

from hookgate.channels.web.markdown import StreamedMarkdown, to_html

__all__ = ["StreamedMarkdown", "to_html"]
