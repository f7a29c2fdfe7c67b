"""Faults against real processes, judged by the physics of the simulation; `make test-faults`."""
