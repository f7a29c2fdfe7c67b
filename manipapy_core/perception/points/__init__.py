"""Point clouds: voxel grid, outliers, planes, DBSCAN, self filter."""
