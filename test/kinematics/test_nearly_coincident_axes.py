"""Parallel axes a few nanometres apart, as a calibration writes them: rotations stay orthonormal."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest

from manipapy_core import Robot, kinematics

ARM = """<robot name="calibrated">
  <link name="base"/><link name="upper"/><link name="lower"/>
  <joint name="j1" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0.3 0.2 1"/>
    <limit lower="-3" upper="3" velocity="1" effort="1"/></joint>
  <joint name="j2" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="{x!r} 0.6 3"/>
    <axis xyz="0.3 0.2 1"/><limit lower="-3" upper="3" velocity="1" effort="1"/></joint>
</robot>"""


@pytest.mark.parametrize("apart", [1e-3, 1e-6, 1e-8, 2e-9])
def test_forward_kinematics_is_exact(apart):
    text = ARM.format(x=0.9 + apart)
    chain = Robot.from_urdf(text).chain("base", "lower")
    model = pinocchio.buildModelFromXML(text)
    data, tip = model.createData(), model.getFrameId("lower")
    for q in np.random.default_rng(0).uniform(-3.0, 3.0, (5, 2)):
        T = kinematics.forward(chain, q)
        np.testing.assert_allclose(T[:3, :3] @ T[:3, :3].T, np.eye(3), atol=1e-12)
        pinocchio.framesForwardKinematics(model, data, q)
        np.testing.assert_allclose(T, data.oMf[tip].homogeneous, atol=1e-12)
