"""Everything that knows a family of tests: reading, asking, judging and making, a package each."""
