"""Seeded campaigns of hostile input: `python -m fuzz NAME --seed S --count N` with `tests` on the path.

Each campaign is a module with a class `Campaign`; docs/fuzzing.md says what each of them tries and promises.
"""
