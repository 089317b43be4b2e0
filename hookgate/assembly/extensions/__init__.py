"""zot extensions as parts: found, trusted, started as hooks, with their tools and the calls that they make."""
