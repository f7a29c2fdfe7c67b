"""Smooth paths and time parameterization."""
