"""The arena as text and as SVG."""
