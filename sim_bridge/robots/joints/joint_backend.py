"""
Joint backends, which read and write the arrays behind `Joint`: in a tree, or as constraint rows.

Arrays have one row for each joint coordinate: nq rows for positions, nv rows for all
others. Writable arrays are views.
"""

from sim_bridge.robots.joints.constraint import ConstraintJointBackend
from sim_bridge.robots.joints.tree import TreeJointBackend

JointBackend = TreeJointBackend | ConstraintJointBackend
