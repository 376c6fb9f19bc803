"""Texts as tokens or words, with the position of each in its text."""
