"""One module per peer, imported when needed: a missing peer is reported and skipped."""
