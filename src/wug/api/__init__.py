"""The public API of `import wug`: models, suites, results, stores and comparisons."""
