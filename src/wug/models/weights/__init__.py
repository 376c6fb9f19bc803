"""Files of weights: fingerprints, and reading pickles without running them."""
