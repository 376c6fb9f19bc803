"""Text generation and log-probabilities from logits: what several backends share."""
