"""Shapes of objects from clusters of points."""
