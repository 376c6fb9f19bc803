"""A paper's table from one command: recipes, the steps that they stand for, and the table with ours beside it."""
