"""The built-in models of wug, one folder each in `models`, with a card that says how it was made.

There is nothing to import here: `wug run` and `wug.open_model("wug-causal")` find them.
"""

__version__ = "0.3.0.dev0"
