"""Surfaces that change while a page shows them."""

from __future__ import annotations

import numpy as np
from support.page_client import PageClient

import sim_bridge as sb


def test_changed_heights_are_sent_and_nothing_else():
    """Draw one of two fields anew when it is dug; leave all other nodes as they are."""
    world = sb.World(1e-3)
    field = sb.HeightField(np.zeros((3, 3)), (1.0, 1.0))
    for number in range(2):
        world.add_body(field, name=f'field_{number}', motion='static',
                       position=(3.0 * number, 0.0, 0.0))
    world.add_body(sb.Box((0.1, 0.2, 0.3)), name='box', position=(0.0, 0.0, 1.0))
    with world.view(browser=False) as viewer, PageClient(viewer.url) as client:
        def tops() -> dict[str, float]:
            viewer.sync()
            return {name: float(node['vertices'].reshape(-1, 3)[:, 2].max())
                    for name, node in client.nodes.items()
                    if name.startswith('/world/both/') and 'vertices' in node}

        client.wait('all bodies', lambda: len(tops()) == 3)
        made = dict(client.nodes)
        world.robots['field_1'].geometries[0].set_heights(np.full((1, 1), 0.7), 1, 1)
        client.wait('a hill', lambda: any(np.isclose(top, 0.7) for top in tops().values()))
        again = [name for name, node in made.items() if client.nodes.get(name) is not node]
        assert len(again) == 1
        assert sorted(round(top, 6) for top in tops().values()) == [0.0, 0.5, 0.7]
