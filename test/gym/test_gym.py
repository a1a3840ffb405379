"""Gymnasium environments: required interface, and agreement with their worlds."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import gymnasium
from gymnasium.utils.env_checker import check_env
import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.description import sensors_from_mapping
from sim_bridge.gym import TaskEnv, TASKS, TaskVectorEnv
from sim_bridge.gym.tasks.pendulum import Pendulum

DOCS = Path(__file__).resolve().parents[2] / 'docs'

# unbounded states are intended for robots
pytestmark = pytest.mark.filterwarnings('ignore:.*Box observation space .* value is')


@pytest.mark.parametrize('name', TASKS)
def test_gymnasiums_checker_passes(name):
    """Make an environment by its name, and run Gymnasium's checker."""
    env = gymnasium.make(f'sim_bridge/{name}')
    assert env.spec.max_episode_steps == round(TASKS[name].duration / TASKS[name].period)
    check_env(env.unwrapped)


@pytest.mark.parametrize('name', TASKS)
def test_one_of_many_is_as_one_alone(name):
    """Equal a single environment with a vector of one, to the bit; repeat for a seed."""

    def played(seed):
        env = gymnasium.make(f'sim_bridge/{name}')
        many = gymnasium.make_vec(f'sim_bridge/{name}', num_envs=1)
        draw = np.random.default_rng(2)
        one, all_ = env.reset(seed=seed)[0], many.reset(seed=seed)[0]
        assert np.array_equal(one, all_[0])
        seen = [one]
        for _ in range(20):
            action = draw.uniform(-1.0, 1.0, env.action_space.shape)
            one, reward, ended, cut, _ = env.step(action)
            all_, rewards, endings, cuts, _ = many.step(action[np.newaxis])
            assert np.array_equal(one, all_[0])
            assert (reward, ended, cut) == (rewards[0], endings[0], cuts[0])
            seen.append(one)
            if ended:
                break
        return np.array(seen)

    first = played(3)
    assert np.array_equal(first, played(3)) and not np.array_equal(first[0], played(4)[0])


@pytest.mark.parametrize('name', TASKS)
def test_vectors_have_the_spaces_that_they_say(name):
    """Observe all environments within the space, with distinct observations."""
    envs = gymnasium.make_vec(f'sim_bridge/{name}', num_envs=5)
    seen, _ = envs.reset(seed=1)
    for _ in range(3):
        assert envs.observation_space.contains(seen) and np.isfinite(seen).all()
        assert len({row.tobytes() for row in seen}) == 5
        seen, rewards, ended, cut, _ = envs.step(envs.action_space.sample())
        assert rewards.shape == ended.shape == cut.shape == (5,)


def test_observations_and_rewards_are_those_of_the_world():
    """Compare the pendulum's with its world's, after steps with closed form: energy by work."""
    env = gymnasium.make('sim_bridge/Pendulum-v1').unwrapped
    env.reset(seed=1)
    before = env.world()
    seen, reward, *_ = env.step(np.array([1.0]))
    world = env.world()
    robot = world.robots['pendulum']
    angle = robot.q[0] - math.pi
    assert seen == pytest.approx([math.cos(angle), math.sin(angle), robot.dq[0]], abs=1e-6)
    assert reward == pytest.approx(math.cos(angle) - 0.01 * robot.dq[0] ** 2 - 0.1)
    assert world.time == pytest.approx(0.02)
    # motor work is torque times angle; the torque is half the one that holds the rod level
    assert world.energy().total - before.energy().total == pytest.approx(
        2.4 * (robot.q[0] - before.robots['pendulum'].q[0]), rel=1e-3
    )


def test_finished_episodes_restart_in_the_next_step():
    """Truncate episodes, restart them without reward, and end fallen ones individually."""
    envs = gymnasium.make_vec('sim_bridge/Pendulum-v1', num_envs=2, max_episode_steps=3)
    envs.reset(seed=1)
    for number in range(1, 5):
        seen, rewards, ended, cut, _ = envs.step(np.zeros((2, 1)))
        assert cut.tolist() == [number == 3] * 2 and not ended.any()
        assert (rewards == 0.0).tolist() == [number == 4] * 2
    assert envs.batch.time.tolist() == [0.0, 0.0]
    walkers = gymnasium.make_vec('sim_bridge/QuadrupedWalk-v1', num_envs=2)
    walkers.reset(seed=1)
    walkers.batch.robots['quadruped'].base_orientation[1] = (1.0, 0.0, 0.0, 0.0)
    _, _, ended, _, _ = walkers.step(np.zeros((2, 12)))
    assert ended.tolist() == [False, True]
    _, _, ended, _, _ = walkers.step(np.zeros((2, 12)))
    assert not ended.any()
    assert walkers.batch.step_count.tolist() == [20, 0]


def test_worlds_that_diverge_end_their_episodes():
    """End an episode if its world becomes non-finite, with a finite reward."""
    envs = gymnasium.make_vec('sim_bridge/Pendulum-v1', num_envs=3)
    envs.reset(seed=1)
    envs.batch.robots['pendulum'].q[1] = np.nan
    _, rewards, ended, _, info = envs.step(np.zeros((3, 1)))
    assert ended.tolist() == info['diverged'].tolist() == [False, True, False]
    assert np.isfinite(rewards).all()
    seen, _, ended, _, _ = envs.step(np.zeros((3, 1)))
    assert np.isfinite(seen).all() and not ended.any()


def test_worlds_can_vary():
    """Give each environment a rod with its own weight."""

    def vary(world, draw):
        world.robots['pendulum'].link('rod').m = draw.uniform(0.5, 2.0)

    envs = gymnasium.make_vec('sim_bridge/Pendulum-v1', num_envs=3, vary=vary, world_seed=4)
    masses = {envs.world(k).robots['pendulum'].link('rod').m for k in range(3)}
    assert len(masses) == 3


def test_wrong_actions_are_refused():
    """Name the error."""
    envs = TaskVectorEnv(2, task=Pendulum)
    envs.reset(seed=0)
    for actions in (np.zeros(2), [[0.0], [math.nan]], [['left'], ['right']]):
        with pytest.raises(sb.InvalidValueError, match=r'actions = .*finite numbers \(2, 1\)'):
            envs.step(actions)


def learner():
    """Return the learning program in the documents."""
    spec = importlib.util.spec_from_file_location('learn', DOCS / 'learn.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.long
def test_the_pendulum_learns_to_swing_up():
    """Stay upright for most of ten seconds, after at most twenty iterations of a small learner."""
    _, history = learner().learn('pendulum', 20, say=lambda line: None)
    # 500 periods; hanging gives -500
    assert history[0] < -300.0 and max(history) > 250.0


@pytest.mark.long
def test_the_quadruped_learns_to_walk():
    """Walk for more than a metre in six seconds, without a fall."""
    program = learner()
    mean, _ = program.learn('quadruped', 12, say=lambda line: None)
    envs = gymnasium.make_vec('sim_bridge/QuadrupedWalk-v1', num_envs=4)
    seen, _ = envs.reset(seed=77)
    for _ in range(299):
        seen, _, ended, _, _ = envs.step(program.gait(np.tile(mean, (4, 1)), seen))
        assert not ended.any()
    assert (envs.batch.robots['quadruped'].base_position[:, 0] > 1.0).all()


class Watched(Pendulum):
    """The pendulum, seen by a camera on its own base."""

    cameras = ('eye',)

    @staticmethod
    def make_world():
        """Return the pendulum's world with the camera beside it."""
        eye = {'type': 'camera', 'size': [96, 18], 'format': 'mono8', 'outputs': ['image']}
        eye |= {'link': 'world', 'position': [0, -0.3, -0.9], 'look_at': [0, 0, -0.9]}
        world = sb.World(time_step=5e-3)
        world.load_urdf('pendulum', sensors=sensors_from_mapping({'eye': eye}))
        return world


def test_cameras_are_observed():
    """Observe images as well: within the space, of each world, from the first observation on."""
    envs = TaskVectorEnv(3, task=Watched, max_episode_steps=4)
    seen, _ = envs.reset(seed=1)
    assert envs.single_observation_space['eye'].shape == (18, 96)
    for _ in range(6):
        assert envs.observation_space.contains(seen)
        for k in range(3):
            alone = envs.world(k).robots['pendulum'].device('eye').render()
            assert np.array_equal(seen['eye'][k], alone)
        assert len(np.unique(seen['eye'], axis=0)) == 3
        seen, *_ = envs.step(envs.action_space.sample())
    env = TaskEnv(task=Watched)
    check_env(env, skip_render_check=True)
    assert env.reset(seed=1)[0]['eye'].shape == (18, 96)
