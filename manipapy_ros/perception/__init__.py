"""The node `perception`: stereo images, depth images or point clouds to obstacles."""
