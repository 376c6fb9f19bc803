"""Test families, one package each."""
