"""The input line and what stands above it, drawn by prompt_toolkit in a thread of its own."""
