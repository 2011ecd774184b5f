"""Texas 42 as text and as SVG."""
