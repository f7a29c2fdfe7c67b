"""Reading and checking robot descriptions."""
