"""
Pictures of worlds, `sb.view`, and their live page, `World.view`.

`scene` turns a world, contacts and forces into triangles with colours; `picture` draws them, and
alone imports VTK. `viewer` is the page of a world in a program: `feed` writes what the page shows,
`control` does what it asks for. Imports `world` and what is below it; nothing that simulates
imports this.
"""

from sim_bridge.view.picture import Part
from sim_bridge.view.scene import Scene

__all__ = ['Part', 'Scene']
