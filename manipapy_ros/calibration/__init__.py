"""Taking images for a calibration from topics, with the arm driven to the poses."""
