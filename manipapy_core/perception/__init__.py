"""From pictures to obstacles: stereo, depth, points without robot and table, clusters, tracks.

`Pipeline.feed` does it all; every stage is also a function or a small class of its own. OpenCV loads when a picture is
first matched.
"""

from .calibrate import StereoCalibration, calibrate_stereo, find_corners
from .camera import BadCamera, Camera, Distortion, StereoModel
from .clusters import Cluster, ClusterSettings, find_clusters
from .dbscan import dbscan
from .depth import (
    DepthMap,
    Points,
    depth_from_disparity,
    depth_from_image,
    points_from_depth,
    transformed,
    without_flying_pixels,
)
from .detect import Detection, Detector, OnnxDetector, label_clusters
from .disparity import Disparity, Matcher, MatcherSettings, Method
from .frames import DepthImage, Frame, PointSet, StereoPair, Unsynchronised
from .images import BadImage, as_depth, as_gray
from .obstacles import Obstacle
from .outliers import inliers, mean_neighbour_distances
from .pipeline import Pipeline
from .planes import PlaneFilter, PlaneFound, PlaneSettings
from .rectify import Rectifier
from .result import Perceived, Reason
from .self_filter import JointHistory, NoConfiguration, SelfFilter
from .settings import PipelineSettings
from .sight import Evidence, Sight
from .tracking import Tracker, TrackSettings
from .voxels import Voxels, crop, voxel_grid

__all__ = [
    "BadCamera",
    "BadImage",
    "Camera",
    "Cluster",
    "ClusterSettings",
    "DepthImage",
    "DepthMap",
    "Detection",
    "Detector",
    "Disparity",
    "Distortion",
    "Evidence",
    "Frame",
    "JointHistory",
    "Matcher",
    "MatcherSettings",
    "Method",
    "NoConfiguration",
    "Obstacle",
    "OnnxDetector",
    "Perceived",
    "Pipeline",
    "PipelineSettings",
    "PlaneFilter",
    "PlaneFound",
    "PlaneSettings",
    "PointSet",
    "Points",
    "Reason",
    "Rectifier",
    "SelfFilter",
    "Sight",
    "StereoCalibration",
    "StereoModel",
    "StereoPair",
    "TrackSettings",
    "Tracker",
    "Unsynchronised",
    "Voxels",
    "as_depth",
    "as_gray",
    "calibrate_stereo",
    "crop",
    "dbscan",
    "depth_from_disparity",
    "depth_from_image",
    "find_clusters",
    "find_corners",
    "inliers",
    "label_clusters",
    "mean_neighbour_distances",
    "points_from_depth",
    "transformed",
    "voxel_grid",
    "without_flying_pixels",
]
