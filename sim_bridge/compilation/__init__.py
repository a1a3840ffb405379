"""
From descriptions to the engine's `Model`: bodies, joint stages, collision geometries, exclusions.

Imports `description`, `shapes` and `engine`.
"""
