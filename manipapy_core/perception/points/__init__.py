"""Point cloud processing: voxel grid, self filter, plane removal, outlier removal, DBSCAN."""
