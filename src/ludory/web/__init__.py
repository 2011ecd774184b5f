"""Pages for a browser: a replay as one self-contained HTML file."""
