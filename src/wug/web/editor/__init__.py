"""The suite editor: drafts, files, checking and scored suites."""
