"""Loading effort grows in proportion to the content; counted in function calls."""

from calls import calls_of
import pytest

import sim_bridge as sb


def mimic_chain(count):
    """Return a URDF with joints in a row, each following the one before."""
    parts = ['<robot name="chain"><link name="link_0"/>']
    for k in range(1, count + 1):
        mimic = f'<mimic joint="joint_{k - 1}" multiplier="0.9" offset="0.1"/>' if k > 1 else ''
        parts.append(
            f'<link name="link_{k}"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" '
            f'iyy="1" iyz="0" izz="1"/></inertial></link><joint name="joint_{k}" '
            f'type="continuous"><parent link="link_{k - 1}"/><child link="link_{k}"/>'
            f'<axis xyz="0 0 1"/>{mimic}</joint>'
        )
    return ''.join([*parts, '</robot>'])


def load(count):
    sb.World().load_urdf(mimic_chain(count), base='fixed')


def add_bodies(count):
    world = sb.World()
    for k in range(count):
        world.add_body(sb.Sphere(0.1), mass=1.0, position=(float(k), 0.0, 1.0))


def load_objects(count):
    sb.World().load_scene(
        {
            'world': {
                'objects': {
                    f'object_{k}': {'sphere': 0.1, 'mass': 1.0, 'position': [k, 0, 1]}
                    for k in range(count)
                }
            }
        }
    )


@pytest.mark.parametrize('work', [load, add_bodies, load_objects])
def test_loading_takes_calls_in_proportion(work):
    """Count about four times as many calls for four times the content."""
    # the first use creates kernels and tables
    work(5)
    small, large = (calls_of(lambda n=n: work(n)) for n in (50, 200))
    assert large < 4.6 * small


@pytest.mark.parametrize(('work', 'most'), [(add_bodies, 1000), (load_objects, 1350)])
def test_an_object_costs_few_calls(work, most):
    """Bound the calls for one more object in a world."""
    work(5)
    small, large = (calls_of(lambda n=n: work(n)) for n in (50, 150))
    assert (large - small) / 100 < most


def test_chain_of_mimic_joints_resolves_to_its_first_joint():
    """Check the products and sums along a chain of mimic rules."""
    description = sb.load_description(mimic_chain(30))
    multiplier, offset = 1.0, 0.0
    for k in range(2, 31):
        multiplier, offset = 0.9 * multiplier, 0.9 * offset + 0.1
        law = description.joints[f'joint_{k}'].mimic
        assert law.joint == 'joint_1'
        assert law.multiplier == pytest.approx(multiplier, rel=1e-14)
        assert law.offset == pytest.approx(offset, rel=1e-14)


def test_resolving_a_chain_visits_each_joint_once(monkeypatch):
    """Create at most two rules for each joint in a chain of mimic joints."""
    from sim_bridge.description.model import Mimic

    made, begin = [], Mimic.__init__

    def count(law, *arguments, **named):
        made.append(law)
        begin(law, *arguments, **named)

    monkeypatch.setattr(Mimic, '__init__', count)
    sb.load_description(mimic_chain(200))
    # one when read, one when resolved
    assert len(made) <= 2 * 200
