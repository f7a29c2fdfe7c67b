"""The simulation with MuJoCo: a model that is compiled anew when robots or objects are added or removed."""
