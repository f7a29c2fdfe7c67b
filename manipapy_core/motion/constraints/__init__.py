"""Path constraints: what a whole motion keeps, and the projection of configurations onto it."""
