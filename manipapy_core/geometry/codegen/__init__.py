"""Machine code of the collision checker."""
