"""What is said on its way to chats: queues, parts that a channel can take, previews. Knows no turn."""
