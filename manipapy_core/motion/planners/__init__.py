"""Planners: each takes a start and goals in a space and returns a collision-free path."""
