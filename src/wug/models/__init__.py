"""Who answers: one module a backend."""
