"""A paper's table from one command: recipes, their steps, and the table with published and computed values."""
