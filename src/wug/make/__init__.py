"""New test material: seeded generators, one module a kind."""
