"""RViz markers for contacts: forces as they act on the moving body."""

from __future__ import annotations

import pytest

import sim_bridge as sb
from sim_bridge.ros.wire.markers import ContactMarkers
from sim_bridge.ros.wire.messages import pack_stamp

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

RAM = """<robot name="press">
  <link name="base"/>
  <link name="ram"><inertial><mass value="3"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><sphere radius="0.1"/></geometry></collision></link>
  <joint name="down" type="prismatic"><parent link="base"/><child link="ram"/><axis xyz="0 0 1"/>
    <limit lower="-2" upper="2" effort="0" velocity="1"/></joint>
</robot>"""


@pytest.mark.parametrize('is_ground_first', [True, False])
def test_forces_push_a_link_of_a_fixed_robot(is_ground_first):
    """Point from the ground into a ram on a fixed base, whichever was added first."""
    world = sb.World(1e-3)
    if is_ground_first:
        world.add_ground()
    world.load_urdf(RAM, position=(0.0, 0.0, 0.12), base='fixed')
    if not is_ground_first:
        world.add_ground()
    world.step(300)
    markers = ContactMarkers(world.geometries, 0.01)
    markers.fill(world.contacts)
    (arrow,) = markers.stamped(pack_stamp(0)).markers[2:]
    start, tip = arrow.points
    assert tip.z - start.z == pytest.approx(0.01 * 3.0 * 9.81, rel=1e-3)
