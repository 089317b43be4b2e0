"""How long a text is for platforms that count UTF-16 units."""


def units(text: str) -> int:
    return len(text) + sum(char > "\uffff" for char in text) if not text.isascii() else len(text)
