"""Background jobs: a queue in the server, and a worker process that evaluates models."""
