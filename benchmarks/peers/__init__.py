"""One file per peer; each is imported only when it is its turn, so a missing one costs a line and not the run."""
