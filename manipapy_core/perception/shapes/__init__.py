"""Object shapes: clusters, oriented boxes, balls, solids fitted to the depth image, labels."""
