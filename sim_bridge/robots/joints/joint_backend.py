"""
The backend of a joint, which provides its numbers: in a tree, or as rows beside the trees.

Arrays of numbers have a row for each of the joint's coordinates, nq positions and nv others. They
are views where they can be written.
"""

from sim_bridge.robots.joints.constraint import ConstraintJointBackend
from sim_bridge.robots.joints.tree import TreeJointBackend

JointBackend = TreeJointBackend | ConstraintJointBackend
