"""Obstacles tracked over frames."""
