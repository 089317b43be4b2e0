"""Whoever sits at the terminal: the lines that they type, and the screen before them."""

from hookgate.cli.terminal.keyboard.keyboard import Keyboard as Keyboard
from hookgate.cli.terminal.keyboard.opening import open_keyboard as open_keyboard
