"""Two slash commands: one that asks the model something, one that only shows notes."""

from __future__ import annotations

from hookgate_extension import Extension

ext = Extension("hello")


@ext.command("hello", "greet somebody")
def hello(who: str) -> object:
    return ext.prompt(f"Greet {who or 'me'} with a short, slightly absurd compliment.")


@ext.command("summon", "wake what sleeps in the terminal")
def summon(_args: str) -> str:
    ext.notify("the daemon stirs in its cage.")
    return "a wisp of incense curls past your terminal."


if __name__ == "__main__":
    ext.run()
