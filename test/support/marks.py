"""The marks `ros`, `process` and `slow` for a test module, from its imports and fixtures."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

SUPPORT = Path(__file__).resolve().parent

SLOW = (
    'batch/test_batch.py',
    'cli/test_overview.py',
    'cli/test_shown_commands.py',
    'compiler/test_compiler_bits.py',
    'compiler/test_compiler_kernels.py',
    'compiler/test_handle.py',
    'compiler/test_kernels.py',
    'contact_problems/test_contact_solvers.py',
    'description/openplx/test_openplx_errors.py',
    'description/openplx/test_write.py',
    'description/test_description.py',
    'drives/test_drive.py',
    'engine/collision/test_collision_broad.py',
    'engine/collision/test_collision_convex.py',
    'engine/collision/test_collision_hollow.py',
    'engine/collision/test_collision_hollow_degenerate.py',
    'engine/collision/test_collision_manifold.py',
    'engine/collision/test_collision_mesh.py',
    'engine/constraints/test_closed_loops.py',
    'engine/constraints/test_compliance.py',
    'engine/constraints/test_constraint_axes.py',
    'engine/constraints/test_loop_worlds.py',
    'engine/contact/test_compliant_joints.py',
    'engine/contact/test_contact_repeats.py',
    'engine/contact/test_pair_laws.py',
    'engine/dynamics/test_dynamics.py',
    'engine/dynamics/test_joint_types.py',
    'engine/dynamics/test_stored_energy.py',
    'engine/motors/test_laws_with_contacts.py',
    'fuzz/test_fuzz.py',
    'gym/test_gym.py',
    'project/test_benchmarks.py',
    'project/test_bridge_benchmark.py',
    'project/test_contact_benchmarks.py',
    'project/test_corpus.py',
    'project/test_document_code.py',
    'project/test_howto.py',
    'project/test_portability.py',
    'project/test_tutorial.py',
    'sensors/test_impacts.py',
    'sensors/test_readings_are_motion.py',
    'shapes/test_collision_description.py',
    'shapes/test_mesh_files.py',
    'sweep/test_documents.py',
    'trajectory/test_trajectory.py',
    'world/test_example_robots.py',
    'world/test_interrupts.py',
    'world/test_raycast.py',
    'world/test_rollback.py',
    'world/test_scenes_of_parts.py',
    'world/test_settings.py',
    'world/test_terrain.py',
)
"""Modules that take more than four seconds of processor time."""

_MESSAGES = '_msgs'
_PROCESS_MODULES = {'multiprocessing', 'subprocess'}
_PROCESS_FIXTURES = {'refusals', 'start_node', 'start_process'}
_ROS_FIXTURES = {'graph', 'ros_environment'}


@cache
def imported(path: Path) -> frozenset[str]:
    """Return the top-level module names imported by a module and its helpers."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition('.')[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition('.')[0])
    helpers = [SUPPORT / f'{name}.py' for name in found if (SUPPORT / f'{name}.py').is_file()]
    return frozenset(found.union(*(imported(helper) for helper in helpers if helper != path)))


def marks_of(path: Path, fixtures: frozenset[str]) -> list[str]:
    """
    Return a test's marks.

    path: its module. fixtures: names of all fixtures used by it, directly or not.
    """
    names = imported(path)
    is_ros = 'rclpy' in names or any(name.endswith(_MESSAGES) for name in names)
    marks = ['ros'] if is_ros or fixtures & _ROS_FIXTURES else []
    if names & _PROCESS_MODULES or fixtures & _PROCESS_FIXTURES:
        marks.append('process')
    if path.as_posix().endswith(SLOW):
        marks.append('slow')
    return marks
