"""Forces and accelerations, checked against Pinocchio, MuJoCo, the Lagrangian and the laws of mechanics."""
