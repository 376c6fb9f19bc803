"""Texts as tokens or words, with the place of each in its text."""
