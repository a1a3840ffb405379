"""
Where geometries touch or come close: contact points, normals and signed distances.

A broad phase finds the pairs of geometries whose boxes overlap, a narrow phase for each pair up to
eight contact points.
"""
