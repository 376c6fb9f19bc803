"""New PCFG SET material: the sets of every test, drawn like the published ones."""
