"""
Learn to swing a pendulum up, or to walk, by the cross-entropy method in numpy.

    python docs/learn.py pendulum
    python docs/learn.py quadruped --iterations 30

Each iteration tries many policies, one in each batch world, and draws the next policies
around the best ones.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
import time

import gymnasium
import numpy as np

import sim_bridge.gym  # noqa: F401 — registers the tasks

Policy = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Maps parameters (n, parameters) and observations (n, observations) to actions (n, actions)."""

HIDDEN, INPUTS = 8, 5


def network(parameters: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Act by a network with one hidden layer, for the pendulum: pump energy, then balance."""
    n = len(seen)
    first = parameters[:, : HIDDEN * INPUTS].reshape(n, HIDDEN, INPUTS)
    last = parameters[:, HIDDEN * INPUTS :]
    # energy missing for standing upright at rest, over the energy for lifting the centre of mass
    lacking = 1.0 - seen[:, :1] - seen[:, 2:] ** 2 / 29.4
    inputs = np.concatenate(
        (seen * (1.0, 1.0, 0.2), lacking * seen[:, 2:] * 0.2, np.ones((n, 1))), axis=1
    )
    hidden = np.tanh(np.einsum('nhs,ns->nh', first, inputs))
    return np.tanh((last * hidden).sum(axis=1, keepdims=True))


def gait(parameters: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """
    Trot by the observed clock: diagonal legs together, each joint at its own phase.

    parameters: for hips and knees the sine amplitude, the cosine amplitude and an offset, for the
    fore and the hind legs; then the gain from pitching to the hips, and from rolling to the outer
    hips.
    """
    n = len(seen)
    sine, cosine = seen[:, 0], seen[:, 1]
    actions = np.zeros((n, 4, 3))
    for leg, sign in enumerate((1.0, -1.0, -1.0, 1.0)):  # lf, rf, lh, rh
        own = parameters[:, :12].reshape(n, 2, 2, 3)[:, leg // 2]
        for joint in (0, 1):
            a, b, c = own[:, joint].T
            actions[:, leg, 1 + joint] = sign * (a * sine + b * cosine) + c
        # the vertical in trunk axes: x changes by pitching, y by rolling
        actions[:, leg, 1] += parameters[:, 12] * seen[:, 27]
        actions[:, leg, 0] += parameters[:, 13] * seen[:, 28]
    return actions.reshape(n, 12)


# identifier, policy, parameter count, initial standard deviation
TASKS = {
    'pendulum': ('sim_bridge/Pendulum-v1', network, HIDDEN * (INPUTS + 1), 1.0),
    'quadruped': ('sim_bridge/QuadrupedWalk-v1', gait, 14, 0.3),
}


def returns(
    env: gymnasium.vector.VectorEnv, policy: Policy, parameters: np.ndarray, seed: int
) -> np.ndarray:
    """Return an episode's summed rewards (n,), one for each parameter row."""
    seen, _ = env.reset(seed=seed)
    total, goes_on = np.zeros(len(parameters)), np.ones(len(parameters), bool)
    while goes_on.any():
        seen, rewards, ended, cut, _ = env.step(policy(parameters, seen))
        total += np.where(goes_on, rewards, 0.0)
        goes_on &= ~(ended | cut)
    return total


def learn(
    task: str,
    iterations: int,
    population: int = 128,
    seed: int = 0,
    say: Callable[[str], object] = print,
) -> tuple[np.ndarray, list[float]]:
    """Return the last policies' mean, and the mean policy's return per iteration."""
    identifier, policy, size, spread = TASKS[task]
    draw, best = np.random.default_rng(seed), max(population // 8, 2)
    mean, deviation, history = np.zeros(size), np.full(size, spread), []
    env = gymnasium.make_vec(identifier, num_envs=population)
    begun = time.perf_counter()
    for iteration in range(iterations):
        parameters = mean + deviation * draw.standard_normal((population, size))
        # the first row is the mean itself
        parameters[0] = mean
        total = returns(env, policy, parameters, seed=iteration)
        elite = parameters[np.argsort(total)[-best:]]
        history.append(float(total[0]))
        # decreasing noise prevents an early convergence
        noise = spread * max(0.5 - iteration / 40.0, 0.0)
        mean, deviation = elite.mean(axis=0), elite.std(axis=0) + 0.3 * noise
        say(
            f'{iteration:3d}: mean {total[0]:8.2f}, best {total.max():8.2f}, '
            f'{time.perf_counter() - begun:6.1f} s'
        )
    return mean, history


def main() -> None:
    """Learn the task given on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition('\n\n')[0])
    parser.add_argument('task', choices=TASKS)
    parser.add_argument('--iterations', type=int, default=40)
    parser.add_argument('--population', type=int, default=128)
    arguments = parser.parse_args()
    mean, _ = learn(arguments.task, arguments.iterations, arguments.population)
    print('parameters:', np.round(mean, 3).tolist())


if __name__ == '__main__':
    main()
