"""Pages for a browser: `ludory serve` (`app.py`, extra `web`), and pages that are one file, such as recorded hands of Texas 42."""
