"""Running texts word by word: what they are made of, how files of them are read, and their surprisals."""

from wug.texts.files import read_texts
from wug.texts.surprisals import UNITS, WORDS, surprisal
from wug.texts.text import Text

__all__ = ["UNITS", "WORDS", "Text", "read_texts", "surprisal"]
