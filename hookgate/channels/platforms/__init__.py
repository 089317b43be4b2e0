"""What channels of chat platforms have in common: requests, sockets, cards, files, states. Knows no platform."""
