"""Algorithms on a `Mechanism`, each written once over any scalar: floats, NumPy arrays or traced symbols."""
