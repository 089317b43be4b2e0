"""The durable record of what was accepted, said, intended, done, decided and delivered: values, interfaces."""
