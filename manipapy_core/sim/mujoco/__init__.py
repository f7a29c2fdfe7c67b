"""The simulation with MuJoCo: a model that is recompiled when robots or objects are added or removed."""
