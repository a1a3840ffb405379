"""
Hollow cylinders and cones: contacts and distances to all other shapes.

A hollow shape is a cone, possibly truncated, minus its bore. Shapes outside touch the cone
(`hollow.outside`). Shapes in the bore touch slices (`hollow.bore`). A slice is the wall section at
one angle about the axis, extended to both sides along the tangent; it is convex. A shape touches
the bore where its distance to the slices has a local minimum. Two rings of a chain touch with
their rims (`hollow.linked`).

Imports `engine.collision.narrow` and `clip` for convex shapes, `mesh` for surfaces.
"""
