"""What happens in a chat, told to gateways whose people listen there while its turn runs at another one."""
