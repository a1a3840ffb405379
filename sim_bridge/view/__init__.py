"""
Pictures, `sb.view`, and the live page, `World.view`.

`scene` turns a world, contacts and forces into coloured triangles; `picture` draws them, and is
the only file that imports VTK. `viewer` is a world's page in a program: `feed` writes the page's
data, `control` executes its requests. Imports `world` and everything below; no simulation code
imports this package.
"""

from sim_bridge.view.picture import Part
from sim_bridge.view.scene import Scene

__all__ = ['Part', 'Scene']
