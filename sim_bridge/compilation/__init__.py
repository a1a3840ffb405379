"""
From descriptions to the engine's `Model`: bodies, joint stages, collision geometries, exclusions.

It imports `description`, `shapes` and `engine`.
"""
