"""Obstacle tracking: constant-velocity Kalman filters, data association, free-space evidence."""
