"""Tutorial pages run, and their results match Pinocchio, Coal and quadprog."""

from __future__ import annotations

import re

import coal
from contact_twins import ContactTwin
import numpy as np
import pinocchio as pin
import pytest
import quadprog
from shipped import path_of
from tutorial import DOCUMENTS, run_page, RUNNER

import sim_bridge as sb


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return the function that runs a page and returns its names and pictures."""
    return lambda name: run_page(name, tmp_path, monkeypatch)


def coal_solid(geometry):
    """Return Coal's solid for a geometry, and its pose."""
    shape = geometry.shape
    if isinstance(shape, sb.Box):
        solid = coal.Box(*shape.size)
    elif isinstance(shape, sb.Ellipsoid):
        solid = coal.Ellipsoid(*shape.radii)
    elif isinstance(shape, sb.Capsule):
        solid = coal.Capsule(shape.radius, shape.length)
    else:
        corners = coal.StdVec_Vec3s()
        corners.extend([corner.copy() for corner in shape.vertices])
        solid = coal.Convex.convexHull(corners, False, '')
    return solid, coal.Transform3s(geometry.R, geometry.p)


def names_of(parts):
    """Return a picture's part names."""
    return [part.name for part in parts]


def test_every_page_is_in_the_index_and_has_its_pictures():
    """List the pages in order; show existing, small pictures, and no others."""
    index = (DOCUMENTS / 'README.md').read_text()
    pages = [page.name for page in RUNNER['pages']()]
    assert re.findall(r'\]\((\d_\w+\.md)\)', index) == pages
    shown = [
        name
        for page in RUNNER['pages']()
        for name in re.findall(r'!\[[^\]]+\]\(([\w.]+)\)', page.read_text())
    ]
    assert sorted(shown) == sorted(path.name for path in DOCUMENTS.glob('*.png'))
    assert all((DOCUMENTS / name).stat().st_size < 100_000 for name in shown)


def test_code_is_at_its_lines_of_the_page():
    """Compile the blocks of a page with the page's line numbers for tracebacks."""
    (page,) = DOCUMENTS.glob('6_*.md')
    lines = RUNNER['code_of'](page).splitlines()
    for number, line in enumerate(page.read_text().splitlines()):
        if number < len(lines) and lines[number]:
            assert lines[number] == line


def test_distances(run):
    """Match Coal's distances between bodies; predict their rates."""
    page, pictures = run('distances')
    world = page['world']
    sb.dynamics.set_configuration(world, sb.dynamics.random_configuration(world, seed=1))
    again = world.find_distances()
    np.testing.assert_array_equal(again.gaps, page['distances'].gaps)
    for d in again:
        request, result = coal.DistanceRequest(), coal.DistanceResult()
        request.gjk_tolerance = 1e-9
        found = coal.distance(
            *coal_solid(d.geometry_a), *coal_solid(d.geometry_b), request, result
        )
        assert d.gap == pytest.approx(found, abs=1e-6)
        np.testing.assert_allclose(d.point_a - d.point_b, d.gap * d.normal, atol=1e-12)
        np.testing.assert_allclose(d.normal, -result.normal, atol=1e-4)
    q = sb.dynamics.configuration(world)
    gaps = []
    for h in (-1e-6, 1e-6):
        sb.dynamics.set_configuration(world, sb.dynamics.integrate(world, h * page['v'], q))
        gaps.append(world.find_distances().gaps)
    np.testing.assert_allclose((gaps[1] - gaps[0]) / 2e-6, page['rates'], atol=1e-6)
    assert names_of(pictures['distances.png']) == [
        'egg',
        'pill',
        'stone',
        'points',
        'points',
        'lines',
    ]
    assert names_of(pictures['motion.png']).count('pill') == 4


def test_pairs_and_contacts(run):
    """Find each pair and each corner; in the random configuration, a true collision."""
    page, pictures = run('pairs_and_contacts')
    assert page['nearest'][0].gap == pytest.approx(0.3 - 0.02 - 0.15)
    assert len(page['contacts']) == 4
    contact = page['contact']
    request, result = coal.CollisionRequest(), coal.CollisionResult()
    assert coal.collide(
        *coal_solid(contact.geometry_a), *coal_solid(contact.geometry_b), request, result
    )
    assert contact.gap < 0.0
    corners = [part for part in pictures['contacts.png'] if part.name == 'arrows']
    np.testing.assert_allclose(corners[0].vertices[:, 2].max(), 0.1004, atol=1e-6)


def test_contact_frames(run):
    """Match Pinocchio's velocity rows; rows for all six directions are twist differences."""
    page, pictures = run('contact_frames')
    problem = page['problem']
    twin = ContactTwin(page['world'], problem, {})
    np.testing.assert_allclose(problem.J, twin.J3[2::3], atol=1e-9)
    for k, c in enumerate(page['contacts']):
        rows = slice(3 * k, 3 * k + 3)
        np.testing.assert_allclose(problem.J3[rows], twin.J3[rows], atol=1e-9)
        np.testing.assert_allclose(c.frame_a.R[:, 2], c.normal, atol=1e-15)
    v = np.random.default_rng(0).normal(size=18)
    sb.dynamics.set_configuration(page['world'], page['q'], v)
    c = page['c']
    apart = np.zeros(6)
    for sign, link in ((1.0, c.link_a), (-1.0, c.link_b)):
        apart[:3] += sign * (link.v + np.cross(link.w, c.position - link.p))
        apart[3:] += sign * link.w
    np.testing.assert_allclose(
        page['J6'] @ v, np.kron(np.eye(2), c.frame_a.R.T) @ apart, atol=1e-12
    )
    assert names_of(pictures['patches.png']) == [
        'egg',
        'pill',
        'box',
        'patches',
        'points',
        'points',
        'lines',
        'arrows',
    ]


def test_separation(run):
    """End with no distance below epsilon, confirmed by Coal, with both methods."""
    page, pictures = run('separation')
    for gaps in (page['turned'], page['straight']):
        assert gaps[0].min() < -0.3
        assert gaps[-1].min() > -1e-4
    assert len(page['overlapping'].patches()) > 10
    jar = page['jar']
    sb.dynamics.set_configuration(jar, sb.dynamics.random_configuration(jar, seed=2))
    sb.contact_problems.separate(jar, gap=0.01)
    pills = [robot.geometries[0] for robot in jar.robots.values() if robot.name != 'jar']
    solids = [coal_solid(geometry) for geometry in pills]
    for number, first in enumerate(solids):
        for second in solids[:number]:
            found = coal.distance(*first, *second, coal.DistanceRequest(), coal.DistanceResult())
            assert found > 0.01 - 1e-5
    assert np.abs(sb.dynamics.configuration(jar).reshape(-1, 7)[:, :3]).max() < 0.95
    assert len(pictures['pills_before.png']) == 6 + 30 + 1
    assert len(pictures['pills_after.png']) == 6 + 30


def test_dynamics(run):
    """Match Pinocchio's terms and the tutorial's reference; each law improves on the last."""
    page, pictures = run('dynamics')
    model = pin.buildModelFromXML(path_of('hand').read_text())
    data = model.createData()
    order = [model.joints[model.getJointId(name)].idx_v for name in page['hand'].joint_names]
    assert order == list(range(14))
    q, dq, ddq = page['q0'], np.zeros(14), page['ddq']
    M = pin.crba(model, data, q)
    np.testing.assert_allclose(page['M'], M, atol=1e-12)
    np.testing.assert_allclose(page['b'], pin.nle(model, data, q, dq), atol=1e-12)
    np.testing.assert_allclose(ddq, pin.aba(model, data, q, dq, page['tau']), rtol=1e-9)
    # the loop by Pinocchio
    for _ in range(1000):
        a = pin.aba(model, data, q, dq, page['bearing'] - page['K_f'] * dq)
        dq = dq + 1e-3 * a
        q = pin.integrate(model, q, 1e-3 * dq)
    np.testing.assert_allclose(page['rubbing'][0][-1], q, atol=1e-8)
    assert np.abs(page['difference']).max() < 5e-3
    # printed by the tutorial for t = 0.2: sinusoids of 1, 2, 3 rad/s with 1.5 rad
    angle = 0.2 * np.array([1.0, 2.0, 3.0])
    example = sb.laws.TrajRef(np.zeros(3), omega=[1.0, 2.0, 3.0], amplitude=1.5)
    for found, truth in zip(
        example.at(0.2),
        (
            1.5 * np.sin(angle),
            1.5 * angle / 0.2 * np.cos(angle),
            -1.5 * (angle / 0.2) ** 2 * np.sin(angle),
        ),
        strict=True,
    ):
        np.testing.assert_allclose(found, truth, atol=1e-12)
    np.testing.assert_allclose(example(0.2), [0.298004, 0.58412751, 0.84696371], atol=1e-8)
    errors = page['errors']
    assert errors['computed torque'] < 1e-3 < errors['PD'] < 0.02
    assert errors['computed torque'] < errors['diagonal of M'] < errors['plain PD']
    assert set(names_of(pictures['hand.png'])) == {'hand'}


def test_frictionless(run):
    """Match quadprog's velocities and impulses and Pinocchio's rows; satisfy the laws."""
    page, pictures = run('frictionless')
    problem = page['problem']
    world = page['world']
    twin = ContactTwin(world, problem, {})
    np.testing.assert_allclose(problem.J3, twin.J3, atol=1e-9)
    np.testing.assert_allclose(problem.M, twin.M, atol=1e-9)
    np.testing.assert_allclose(problem.v_free, twin.v_free, atol=1e-9)
    np.testing.assert_allclose(page['delassus'], twin.delassus3[2::3, 2::3], rtol=1e-9, atol=1e-9)
    v, _, _, _, multipliers, _ = quadprog.solve_qp(
        problem.M, problem.M @ problem.v_free, problem.J.T, np.zeros(len(problem.J))
    )
    for name in ('primal', 'dual'):
        solution = page[name]
        np.testing.assert_allclose(solution.velocity, v, atol=1e-9)
        np.testing.assert_allclose(
            problem.J.T @ solution.normal_impulses, problem.J.T @ multipliers, atol=1e-9
        )
        assert (solution.normal_impulses * (problem.J @ solution.velocity)).max() < 1e-12
    np.testing.assert_allclose(page['pushed'], page['dual'].velocity, atol=1e-12)
    assert page['least'].min() > -1e-12
    runs = page['runs']
    np.testing.assert_allclose(runs['primal'], runs['dual'], atol=1e-9)
    # at impacts the motion during one step
    apart = np.abs(runs["primal, engine's bias"] - runs['world.step'])
    assert apart.max() < 1e-3
    assert apart[-1].max() < 1e-5
    heights = np.cumsum(page['SIZES']) - 0.5 * np.array(page['SIZES'])
    np.testing.assert_allclose(runs['world.step'][-1], heights, atol=1e-6)
    drawn = pictures['cubes.png']
    assert names_of(drawn) == ['cube_0', 'cube_1', 'cube_2', 'ground', 'arrows']


def test_grasp_along_the_object(run):
    """Close with all tips on the ball, hold it in equilibrium, lift it without friction."""
    page, pictures = run('grasp')
    assert np.abs(page['contacts'].gaps).max() < 1e-9
    effort = page['effort']
    assert effort.residual < 1e-9
    assert (effort.forces[:, 2] >= 0.3 - 1e-9).all()
    # the fingertip forces bear the ball's weight
    total = np.einsum('nij,nj->i', page['contacts'].axes, effort.forces)
    np.testing.assert_allclose(-total, [0.0, 0.0, 0.2 * 9.81], atol=1e-9)
    assert page['body'].root_link.p[2] == pytest.approx(0.135, abs=5e-4)
    assert names_of(pictures['grasp.png'])[-1] == 'arrows'
