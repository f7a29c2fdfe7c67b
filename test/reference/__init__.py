"""Second routes to every number: Pinocchio, MuJoCo and the Lagrangian, and the robots to try them on."""
