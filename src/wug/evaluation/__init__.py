"""Running suites on models: the run service, model handles, the output cache and the executors."""
