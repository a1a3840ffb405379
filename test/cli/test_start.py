"""Imports at a start: only necessary modules."""

from __future__ import annotations

import subprocess
import sys

import pytest

# slow imports, needed only for meshes, scenes, xacro files or compilation
RARE = ('importlib.metadata', 'scipy', 'subprocess', 'tempfile', 'trimesh', 'xacro')

LIBRARY = 'from sim_bridge import World'
NODE = 'import sim_bridge.ros.node.node, sim_bridge.world.world'
CONTROLLER = 'import sim_bridge.control.computed_torque_controller'


def imported(code: str) -> set[str]:
    """Run code in a separate process; list the modules loaded then."""
    script = f'{code}\nimport sys\nprint(*sys.modules)'
    return set(
        subprocess.run(
            [sys.executable, '-c', script], stdout=subprocess.PIPE, text=True, check=True
        ).stdout.split()
    )


def test_a_world_needs_neither_ros_nor_file_readers():
    """Import the library without ROS, YAML, LLVM and file readers."""
    others = ('llvmlite', 'lxml', 'numba', 'rclpy', 'urdf_parser_py', 'yaml')
    assert imported(LIBRARY).isdisjoint({*RARE, *others})


@pytest.mark.parametrize('code', [NODE, CONTROLLER])
def test_a_node_imports_no_more_than_it_needs(code):
    """Start a node without modules that rclpy does not need either."""
    taken_along = imported('import rclpy.executors, rclpy.node')
    rare = {*RARE, 'lxml', 'numba', 'rclpy.action'} - taken_along
    assert imported(code).isdisjoint(rare)
