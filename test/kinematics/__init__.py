"""Where the links are and how they move, checked against Pinocchio, finite differences and matrix exponentials."""
