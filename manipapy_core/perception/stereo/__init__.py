"""Cameras, stereo matching and depth."""
