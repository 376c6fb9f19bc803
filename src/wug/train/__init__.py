"""Reference baselines, trained from scratch."""
