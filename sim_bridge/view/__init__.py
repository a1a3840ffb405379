"""
Pictures of worlds: `sb.view`.

`scene` turns a world, contacts and forces into triangles with colours; `picture` draws them, and
alone imports VTK. Imports `world` and what is below it; nothing that simulates imports this.
"""

from sim_bridge.view.picture import Part
from sim_bridge.view.scene import Scene

__all__ = ['Part', 'Scene']
