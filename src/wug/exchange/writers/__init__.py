"""Formats of other programs that runs are written in, one module each."""
