"""Formats of other programs whose results become runs, one module each."""
