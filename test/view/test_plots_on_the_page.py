"""Curves on the page, compared with the world's history."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.page_client import PageClient

import sim_bridge as sb
from sim_bridge.page.plots_layer import _scales

STEP = 1e-3
AXES = 'xyz'


@pytest.fixture(scope='module')
def plotted():
    """Return the curves of a thrown rover, and its motion, by times."""
    world = sb.World(STEP, gravity=(0.0, 0.0, 0.0))
    rover = world.load_urdf('rover', position=(0.0, 0.0, 1.0), orientation=(0.1, 0.2, 0.3, 0.9))
    rover.set_base_velocity((0.4, -0.3, 0.2), (0.5, 1.0, -0.7))
    base, been = rover.root_link, {}

    def look(world):
        angles = Rotation.from_matrix(base.R).as_euler('xyz')
        been[round(world.time / STEP)] = np.concatenate(
            [angles, base.R.T @ base.v, base.R.T @ base.w, base.p]
        )

    look(world)
    world.after_step(look)
    names = [
        f'rover base {name}'
        for name in (
            *(f'{angle} [rad]' for angle in ('roll', 'pitch', 'yaw')),
            *(f'linear velocity {axis} [m/s]' for axis in AXES),
            *(f'angular velocity {axis} [rad/s]' for axis in AXES),
        )
    ]
    shown = [*names[:7], f'rover/{base.name} x [m]']  # the greatest number of curves
    with world.view(browser=False) as viewer, PageClient(viewer.url) as client:
        client.wait(
            'all names', lambda: {*shown, *names} <= set(client.widgets['Value']['options'])
        )

        def curves_of(count, least):
            for _ in range(20):
                world.step()
            curves = client.curves
            return (
                curves
                if len(curves) == count
                and all(np.isfinite(curve[1]).sum() > least for curve in curves.values())
                else None
            )

        for count, name in enumerate(shown, 1):
            client.set('Value', name)
            client.click('Add')
            client.wait(name, lambda count=count: curves_of(count, 1))
        curves = client.wait('more of them', lambda: curves_of(8, 10))
        assert list(curves) == shown
        return list(curves.values()), been


@pytest.mark.parametrize('number', range(8))
def test_curves_match_the_history_of_the_world(plotted, number):
    """Plot orientations, twists in base axes, and positions, at their times."""
    (times, values), been = plotted[0][number], plotted[1]
    # also before it was chosen; the page may get its first frame after the first step
    assert times[0] <= STEP and np.ptp(values) > 1e-3
    column = 9 if number == 7 else number
    expected = [been[step][column] for step in np.round(times / STEP).astype(int)]
    assert values == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ('values', 'expected'),
    [
        ([0.0, 1e-17, -2e-17], (-0.01, 0.01)),
        ([2.0, 2.0, 2.0 + 1e-15], (1.98, 2.02)),
        ([1.0, np.inf, 3.2], (1.0, 4.0)),
        ([np.nan, np.nan], (0.0, 1.0)),
        ([1.0, 3.0], None),
    ],
)
def test_a_chart_has_a_range_that_can_be_read(values, expected):
    """Let the chart choose the range unless its labels would be identical, or missing."""
    scale = _scales(np.array([values])).get('y')
    assert (scale and scale['range']) == (expected and pytest.approx(expected))


def test_charts_scale_by_finite_values():
    """Choose the range by the finite numbers, while a sensor has no hit."""
    world = sb.World(STEP, gravity=(0.0, 0.0, 0.0))
    world.load_scene(
        {
            'world': {
                'objects': {
                    'eye': {
                        'sphere': 0.1,
                        'sensors': {
                            'ahead': {'type': 'range', 'range': {'min': 0.15, 'max': 3.0}}
                        },
                    },
                    'wall': {
                        'motion': 'kinematic',
                        'box': [0.1, 1.0, 1.0],
                        'position': [9.0, 0.0, 0.0],
                    },
                }
            }
        }
    )
    with world.view(browser=False) as viewer, PageClient(viewer.url) as client:
        client.wait(
            'the value', lambda: 'eye/ahead range [m]' in client.widgets['Value']['options']
        )
        client.set('Value', 'eye/ahead range [m]')
        client.click('Add')

        def scales():
            for _ in range(20):
                world.step()
            return client.plot['scales']

        def range_of(is_known):
            found = scales()['y']['range']
            ((_, values),) = client.curves.values()
            return (
                found if len(values) > 5 and (np.isfinite(values).sum() > 5) == is_known else None
            )

        assert client.wait('nothing met', lambda: range_of(False))
        world.robots['wall'].set_base_pose((2.05, 0.0, 0.0))
        low, high = client.wait('the wall', lambda: range_of(True))
        assert low <= 2.0 <= high <= low + 0.1
