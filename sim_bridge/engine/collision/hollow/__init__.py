"""
Hollow cylinders and cones: their contacts and distances with all other shapes.

Such a shape is a cone, perhaps truncated, minus its bore. What comes from outside touches the cone
(`hollow.outside`). What is in the bore touches slices (`hollow.bore`): a slice is the part of the
wall that lies at one angle about the axis, continued to both sides along the tangent, which is
convex. A shape touches the bore where its distance from the slices is least among those nearby.
Two rings of a chain touch with their rims (`hollow.linked`).

Imports `engine.collision.narrow` and `clip` for convex shapes, `mesh` for surfaces.
"""
