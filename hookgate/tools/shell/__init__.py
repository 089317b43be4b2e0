"""Commands in the sandbox: Bubblewrap, Landlock, output, work in the background."""
