"""Frames: SVG and terminal text as pixels, and pixels as videos."""
