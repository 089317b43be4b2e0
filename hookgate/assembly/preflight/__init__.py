"""Whether what a configuration names is there, before anything is started."""
