"""Camera models, calibration, stereo matching, depth, and conversion of frames to points."""
