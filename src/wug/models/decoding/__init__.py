"""Text generation: decoding loops for Hugging Face models, and what all generating backends share."""
