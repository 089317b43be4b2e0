"""An ordinary bot written with discord.py: `echo_bot.py API GATEWAY TOKEN`. It says what it is told, sends files
back, has a button and a slash command. Knows nothing of hookgate."""

from __future__ import annotations

import io
import sys

import discord
import yarl
from discord import app_commands
from discord.gateway import DiscordWebSocket
from discord.http import Route


class Sure(discord.ui.View):
    def __init__(self) -> None:
        super().__init__(timeout=None)

    @discord.ui.button(label="Yes", custom_id="a:1")
    async def yes(self, interaction: discord.Interaction, _button: discord.ui.Button) -> None:
        await interaction.response.defer()
        await interaction.message.edit(content=f"{interaction.user.display_name} said a:1", view=None)
        await interaction.followup.send("Thanks", ephemeral=True)


class Bot(discord.Client):
    def __init__(self) -> None:
        intents = discord.Intents(guilds=True, guild_messages=True, dm_messages=True, message_content=True)
        super().__init__(intents=intents)
        self.tree = app_commands.CommandTree(self)

        @self.tree.command(name="twice", description="says it twice")
        async def twice(interaction: discord.Interaction, text: str) -> None:
            await interaction.response.send_message(f"{text} {text}")

    async def setup_hook(self) -> None:
        # Somebody may press before the answer to its message has come.
        self.add_view(Sure())
        await self.tree.sync()

    async def on_message(self, message: discord.Message) -> None:
        if message.author.bot:
            return
        if message.attachments:
            content = await message.attachments[0].read()
            await message.channel.send(f"{len(content)} bytes", file=discord.File(io.BytesIO(content), "back.png"))
        elif message.content == "ask":
            await message.channel.send("Sure?", view=Sure())
        else:
            await message.reply(message.content, allowed_mentions=discord.AllowedMentions.none())


def main() -> None:
    api, gateway, token = sys.argv[1:]
    Route.BASE = f"{api}/api/v10"
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(gateway)
    Bot().run(token)


if __name__ == "__main__":
    main()
