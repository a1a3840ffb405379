"""
Parameters: their tables, files, and those supplied with robots.

Imports `robots.joints`, `compilation`, `description`, `foreign`, `engine.data`, `shapes` and
`foundation`, and no other package of `ros`.
"""
