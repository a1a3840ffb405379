"""
Interface of the Open Dynamics Engine, like its Python bindings, over `sim_bridge`.

A program for these bindings runs with `from sim_bridge import ode`. The physics are those of
`sim_bridge`; docs/ode.md lists the differences to ODE. May import everything below
`trajectory`, `drives`, `contact_problems` and `laws`.
"""

from sim_bridge.ode.body import Body as Body
from sim_bridge.ode.collide import areConnected as areConnected
from sim_bridge.ode.collide import areConnectedExcluding as areConnectedExcluding
from sim_bridge.ode.collide import collide as collide
from sim_bridge.ode.collide import connectingJoints as connectingJoints
from sim_bridge.ode.compound_joints import DBallJoint as DBallJoint
from sim_bridge.ode.compound_joints import DHingeJoint as DHingeJoint
from sim_bridge.ode.compound_joints import PRJoint as PRJoint
from sim_bridge.ode.compound_joints import PUJoint as PUJoint
from sim_bridge.ode.constants import *  # noqa: F403
from sim_bridge.ode.contact import Contact as Contact
from sim_bridge.ode.contact_joint import ContactJoint as ContactJoint
from sim_bridge.ode.geoms import GeomObject as GeomObject
from sim_bridge.ode.joint_types import BallJoint as BallJoint
from sim_bridge.ode.joint_types import FixedJoint as FixedJoint
from sim_bridge.ode.joint_types import Hinge2Joint as Hinge2Joint
from sim_bridge.ode.joint_types import HingeJoint as HingeJoint
from sim_bridge.ode.joint_types import PistonJoint as PistonJoint
from sim_bridge.ode.joint_types import Plane2DJoint as Plane2DJoint
from sim_bridge.ode.joint_types import SliderJoint as SliderJoint
from sim_bridge.ode.joint_types import UniversalJoint as UniversalJoint
from sim_bridge.ode.joints import Joint as Joint
from sim_bridge.ode.joints import JointGroup as JointGroup
from sim_bridge.ode.mass import Mass as Mass
from sim_bridge.ode.more_shapes import GeomConvex as GeomConvex
from sim_bridge.ode.more_shapes import GeomHeightfield as GeomHeightfield
from sim_bridge.ode.more_shapes import HeightfieldData as HeightfieldData
from sim_bridge.ode.motors import AMotor as AMotor
from sim_bridge.ode.motors import LMotor as LMotor
from sim_bridge.ode.shapes import GeomBox as GeomBox
from sim_bridge.ode.shapes import GeomCapsule as GeomCapsule
from sim_bridge.ode.shapes import GeomCCylinder as GeomCCylinder
from sim_bridge.ode.shapes import GeomCylinder as GeomCylinder
from sim_bridge.ode.shapes import GeomPlane as GeomPlane
from sim_bridge.ode.shapes import GeomRay as GeomRay
from sim_bridge.ode.shapes import GeomSphere as GeomSphere
from sim_bridge.ode.shapes import GeomTransform as GeomTransform
from sim_bridge.ode.shapes import GeomTriMesh as GeomTriMesh
from sim_bridge.ode.shapes import TriMeshData as TriMeshData
from sim_bridge.ode.spaces import collide2 as collide2
from sim_bridge.ode.spaces import HashSpace as HashSpace
from sim_bridge.ode.spaces import QuadTreeSpace as QuadTreeSpace
from sim_bridge.ode.spaces import SimpleSpace as SimpleSpace
from sim_bridge.ode.spaces import Space as Space
from sim_bridge.ode.spaces import SpaceBase as SpaceBase
from sim_bridge.ode.spaces import SweepAndPruneSpace as SweepAndPruneSpace
from sim_bridge.ode.world import World as World


def InitODE() -> None:
    """Do nothing: there is nothing to initialize."""


def CloseODE() -> None:
    """Do nothing: there is nothing to close."""
