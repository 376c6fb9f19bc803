"""What is asked: one module a family."""
