"""wug: test what a language model knows about language, the way linguists test speakers."""

__version__ = "0.1.0"
