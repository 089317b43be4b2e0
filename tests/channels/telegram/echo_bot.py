"""An ordinary bot written with python-telegram-bot: `echo_bot.py URL TOKEN`. It says what it is told, sends
files back and has a button. Knows nothing of hookgate."""

from __future__ import annotations

import sys

from telegram import InlineKeyboardButton, InlineKeyboardMarkup, Update
from telegram.ext import Application, CallbackQueryHandler, CommandHandler, ContextTypes, MessageHandler, filters

Context = ContextTypes.DEFAULT_TYPE


async def echo(update: Update, _context: Context) -> None:
    message = update.effective_message
    await message.reply_text(message.text, entities=message.entities, message_thread_id=message.message_thread_id)


async def send_back(update: Update, _context: Context) -> None:
    message = update.effective_message
    photo = await message.photo[-1].get_file()
    content = bytes(await photo.download_as_bytearray())
    await message.reply_photo(content, caption=f"{len(content)} bytes")


async def ask(update: Update, _context: Context) -> None:
    keyboard = InlineKeyboardMarkup([[InlineKeyboardButton("Yes", callback_data="a:1")]])
    await update.effective_message.reply_text("Sure?", reply_markup=keyboard)


async def pressed(update: Update, _context: Context) -> None:
    query = update.callback_query
    await query.answer("Thanks")
    await query.edit_message_text(f"{query.from_user.first_name} said {query.data}")


def main() -> None:
    url, token = sys.argv[1:]
    bot = Application.builder().token(token).base_url(f"{url}/bot").base_file_url(f"{url}/file/bot").build()
    bot.add_handler(CommandHandler("ask", ask))
    bot.add_handler(CallbackQueryHandler(pressed))
    bot.add_handler(MessageHandler(filters.PHOTO, send_back))
    bot.add_handler(MessageHandler(filters.TEXT, echo))
    bot.run_polling(timeout=5)


if __name__ == "__main__":
    main()
