"""zot extensions as supervised hooks and ordinary tools."""
