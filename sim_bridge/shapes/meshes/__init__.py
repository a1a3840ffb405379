"""
Mesh tools: `sb.meshes`.

Convex decomposition, reduction and oriented bounding volumes. Imports `shapes`. In the simulator
only the collision shape reader imports this package.
"""

from sim_bridge.shapes.meshes.bounding import oriented_box, oriented_capsule, oriented_cylinder
from sim_bridge.shapes.meshes.decomposition import decompose
from sim_bridge.shapes.meshes.reduction import reduce

__all__ = ['decompose', 'oriented_box', 'oriented_capsule', 'oriented_cylinder', 'reduce']
