"""
Gymnasium environments over batches of worlds, for learning; needs the extra `gym`.

`import sim_bridge.gym` registers the tasks in `tasks`; `gymnasium.make('sim_bridge/Pendulum-v1')`
and `gymnasium.make_vec` then create them. `vector_env` steps all environments of a task in one
`Batch`; `env` is a single environment. The package imports `batch` and its dependencies. No other
package imports gymnasium.
"""

from sim_bridge.foundation.errors import extra_hint, MissingPackageError

try:
    import gymnasium
except ImportError as err:
    raise MissingPackageError('sim_bridge.gym', extra_hint('gym')) from err

from sim_bridge.gym.env import TaskEnv
from sim_bridge.gym.task import Task
from sim_bridge.gym.tasks import TASKS
from sim_bridge.gym.vector_env import TaskVectorEnv

__all__ = ['TASKS', 'Task', 'TaskEnv', 'TaskVectorEnv']


def _register() -> None:
    for name, kind in TASKS.items():
        identifier = f'sim_bridge/{name}'
        if identifier not in gymnasium.registry:
            gymnasium.register(
                identifier,
                entry_point='sim_bridge.gym.env:TaskEnv',
                vector_entry_point='sim_bridge.gym.vector_env:TaskVectorEnv',
                kwargs={'task': kind},
                max_episode_steps=round(kind.duration / kind.period),
            )


_register()
