"""Chat completions, as OpenAI and many others speak them."""
