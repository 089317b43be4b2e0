"""zot extensions on disk: their folders, manifests, logs, how they are installed. Starts none of them."""
