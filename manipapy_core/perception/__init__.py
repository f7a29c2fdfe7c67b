"""Obstacle perception: stereo matching, depth, self filter, plane removal, clustering and tracking.

`PerceptionPipeline.feed` runs all stages; each stage is also available as a function or class. OpenCV is imported when
the first image is processed.
"""

from .camera_pose import CameraPose
from .pipeline import PerceptionPipeline
from .points.axes import CloudAxes, to_optical
from .points.dbscan import dbscan
from .points.detected_plane import DetectedPlane
from .points.outliers import inliers, mean_neighbour_distances
from .points.planes import PlaneFilter, PlaneSettings
from .points.self_filter import JointHistory, NoConfiguration, SelfFilter
from .points.voxels import Voxels, crop, voxel_grid
from .result import PerceptionResult, Reason
from .settings import PerceptionSettings
from .shapes.cluster import Cluster
from .shapes.clusters import ClusterSettings, find_clusters
from .shapes.labels import Detection, Detector, OnnxDetector, label_clusters
from .shapes.padding import PaddingSettings
from .space_map import SpaceMap, SpaceState, UnknownSpace
from .stereo.camera import BadCamera, Camera, Distortion, StereoModel
from .stereo.depth import (
    DepthMap,
    Points,
    depth_from_disparity,
    depth_from_image,
    points_from_depth,
    transformed,
    without_flying_pixels,
)
from .stereo.disparity import Disparity, Matcher
from .stereo.frames import DepthImage, Frame, PointSet, StereoPair, Unsynchronised
from .stereo.images import BadImage, as_depth, as_gray
from .stereo.matcher_settings import MatcherSettings, Method
from .stereo.noise import DepthNoise, NoiseEstimator
from .stereo.rectify import DepthRectifier, Rectifier
from .surfaces import SeenSurface, SurfaceKeeper, surfaces_of
from .tracking.line_of_sight import Evidence, LineOfSight
from .tracking.obstacle import Obstacle
from .tracking.tracker import Tracker, TrackSettings

__all__ = [
    "BadCamera",
    "BadImage",
    "Camera",
    "CameraPose",
    "CloudAxes",
    "Cluster",
    "ClusterSettings",
    "DepthImage",
    "DepthMap",
    "DepthNoise",
    "DepthRectifier",
    "DetectedPlane",
    "Detection",
    "Detector",
    "Disparity",
    "Distortion",
    "Evidence",
    "Frame",
    "JointHistory",
    "LineOfSight",
    "Matcher",
    "MatcherSettings",
    "Method",
    "NoConfiguration",
    "NoiseEstimator",
    "Obstacle",
    "OnnxDetector",
    "PaddingSettings",
    "PerceptionPipeline",
    "PerceptionResult",
    "PerceptionSettings",
    "PlaneFilter",
    "PlaneSettings",
    "PointSet",
    "Points",
    "Reason",
    "Rectifier",
    "SeenSurface",
    "SelfFilter",
    "SpaceMap",
    "SpaceState",
    "StereoModel",
    "StereoPair",
    "SurfaceKeeper",
    "TrackSettings",
    "Tracker",
    "UnknownSpace",
    "Unsynchronised",
    "Voxels",
    "as_depth",
    "as_gray",
    "crop",
    "dbscan",
    "depth_from_disparity",
    "depth_from_image",
    "find_clusters",
    "inliers",
    "label_clusters",
    "mean_neighbour_distances",
    "points_from_depth",
    "surfaces_of",
    "to_optical",
    "transformed",
    "voxel_grid",
    "without_flying_pixels",
]
