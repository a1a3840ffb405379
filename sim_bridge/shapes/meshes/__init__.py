"""
Tools for meshes: `sb.meshes`.

Convex decomposition, reduction and oriented bounding volumes. Imports `shapes`; of what simulates
only the reader of collision shapes imports this.
"""

from sim_bridge.shapes.meshes.bounding import oriented_box, oriented_capsule, oriented_cylinder
from sim_bridge.shapes.meshes.decomposition import decompose
from sim_bridge.shapes.meshes.reduction import reduce

__all__ = ['decompose', 'oriented_box', 'oriented_capsule', 'oriented_cylinder', 'reduce']
