"""Exchange with other evaluation programs: writers of stored runs, and readers of other programs' results.

A format is one module in `writers/` or `readers/`; families declare those of their benchmarks.
"""
