"""`wug view`: the runs on the user's own machine, as pages in the browser."""
