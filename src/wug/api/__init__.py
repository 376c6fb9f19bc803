"""What `import wug` offers: models, suites, results, stores and comparisons as a notebook uses them."""
