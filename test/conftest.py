"""
Shared fixtures: the repository, third-party robots, an isolated ROS graph.

Every pytest process (each xdist worker too) holds a ROS domain unused by any other pytest process
on the machine, and `ros_environment` gives a single test a further one, so no test ever receives
another test's topics.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import gc
import importlib.metadata
import itertools
import os
from pathlib import Path
import signal
import subprocess
import sys
import tempfile

from ending_with_tests import ending_with_tests
from marks import marks_of
import pytest

from sim_bridge.ros.interfaces import build, store

# assertions in helper modules are rewritten like those in tests
pytest.register_assert_rewrite('node_fixtures', 'standard_simulation', 'twins')

REPOSITORY = Path(__file__).resolve().parent.parent

# time limit of a test with the mark `long` [s]; pyproject.toml has the limit of all others
_LONG_S = 1800.0

PROFILE = str(REPOSITORY / 'test' / 'support' / 'local_udp.xml')

# Domains 0 to 101 keep DDS below Linux' ephemeral ports; 0 is the common default.
DOMAINS = range(1, 102)


# used in turn: a process briefly outliving its test does not disturb later tests
_domains = itertools.cycle(
    [DOMAINS[(37 * os.getpid() + number) % len(DOMAINS)] for number in range(len(DOMAINS))]
)


@contextlib.contextmanager
def reserved_domain():
    """Yield a ROS domain id unused by all other pytest processes on this machine."""
    for domain in itertools.islice(_domains, len(DOMAINS)):
        path = Path(tempfile.gettempdir()) / f'sim_bridge_test_domain_{domain}.lock'
        with contextlib.ExitStack() as stack:
            try:
                lock = stack.enter_context(open(path, 'w'))
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue  # held by another process, or made by another user
            yield domain
            return
    raise RuntimeError(f'no ROS domain left: all of {DOMAINS} are in use by tests')


_process_resources = contextlib.ExitStack()


def pytest_configure(config):
    """
    Isolate this pytest process and its children on a ROS graph.

    Runs before any test module is imported, because rclpy and the message modules read the
    environment once.
    """
    # children start as from a terminal: nohup ignores SIGHUP, a shell's background job SIGINT
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    enter = _process_resources.enter_context
    os.environ.update(
        {
            'ROS_DOMAIN_ID': str(enter(reserved_domain())),
            # LOCALHOST would add shared memory, left half-made by a killed child
            'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SYSTEM_DEFAULT',
            'FASTRTPS_DEFAULT_PROFILES_FILE': PROFILE,
            'FASTDDS_DEFAULT_PROFILES_FILE': PROFILE,
            'ROS_LOG_DIR': enter(tempfile.TemporaryDirectory(prefix='sim_bridge_test_')),
            # without it a value of the wrong type is published silently as garbage
            'ROS_PYTHON_CHECK_FIELDS': '1',
            # children run this checkout, in any working folder
            'PYTHONPATH': os.pathsep.join(
                filter(None, [str(REPOSITORY), os.environ.get('PYTHONPATH')])
            ),
        }
    )
    # pytest does not unconfigure a worker whose controller was killed; registered after the folder
    # is made, this runs before Python deletes the folder with a warning
    atexit.register(_process_resources.close)
    # with it every child would compile all modules again
    os.environ.pop('PYTHONDONTWRITEBYTECODE', None)
    # generated once here instead of by every worker; a ROS 2 installation includes them
    if store.wheels() is not None:
        store.offer(build.build()[0])
        os.environ['PYTHONPATH'] += os.pathsep + sys.path[-1]


def pytest_collection(session):
    """Collect without garbage collection: all new objects are kept."""
    gc.disable()


def pytest_ignore_collect(collection_path, config):
    """Skip modules that `-m 'not MARK'` deselects as a whole: importing them takes seconds."""
    if collection_path.name.startswith('test_') and collection_path.suffix == '.py':
        marks = marks_of(collection_path, frozenset())
        if any(f'not {mark}' in config.getoption('markexpr') for mark in marks):
            return True
    return None


def pytest_collection_modifyitems(items):
    """Mark tests with ROS graphs or other processes, and slow tests; bound the long ones."""
    for item in items:
        for mark in marks_of(item.path, frozenset(getattr(item, 'fixturenames', ()))):
            item.add_marker(mark)
        if item.get_closest_marker('long') and not item.get_closest_marker('timeout'):
            item.add_marker(pytest.mark.timeout(_LONG_S))


def pytest_collection_finish(session):
    """Exclude all collected tests from later garbage collections."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure(config):
    """Return the domain and delete the logs."""
    _process_resources.close()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """Start one worker more than there are processors: tests of nodes sometimes wait."""
    return len(os.sched_getaffinity(0)) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config, specs):
    """Compile common code once before pytest-xdist workers start."""
    subprocess.run([sys.executable, '-m', 'sim_bridge', 'compile'], cwd=REPOSITORY, check=True)


def example_urdfs() -> dict[str, Path]:
    """
    Return the URDFs of `example-robot-data`, robots by many makers, by name.

    A name is the robot's folder and the file: 'ur/ur5_robot', 'panda/panda'.
    """
    files = importlib.metadata.files('example-robot-data') or []
    found = {}
    for file in files:
        if file.suffix == '.urdf':
            folder = file.parts[file.parts.index('robots') + 1].removesuffix('_description')
            found[f'{folder}/{file.stem}'] = Path(file.locate())
    return dict(sorted(found.items()))


def pytest_generate_tests(metafunc):
    """Run tests with the argument `example_robot` once per URDF of `example-robot-data`."""
    if 'example_robot' in metafunc.fixturenames:
        urdfs = example_urdfs()
        metafunc.parametrize('example_robot', urdfs.values(), ids=urdfs.keys())


def fixed_and_free(robots: dict[str, object]) -> list:
    """
    Return parameters (robot, is_free): each robot fixed and free.

    In alternation, one of the two is left to the long tests.
    """
    return [
        pytest.param(
            (robot, is_free),
            id=f'{name}-{"free" if is_free else "fixed"}',
            marks=pytest.mark.long if (number + is_free) % 2 else (),
        )
        for number, (name, robot) in enumerate(robots.items())
        for is_free in (False, True)
    ]


@pytest.fixture(scope='session')
def example_robots() -> dict[str, Path]:
    """All URDFs of `example-robot-data` by name, such as 'panda/panda'."""
    return example_urdfs()


@pytest.fixture(scope='session')
def robots_folder(example_robots) -> Path:
    """Return the robot folder of `example-robot-data`."""
    path = next(iter(example_robots.values()))
    while path.name != 'robots' or path.parent.name != 'example-robot-data':
        path = path.parent
    return path


@pytest.fixture(scope='session')
def repository() -> Path:
    """Return the root of this checkout."""
    return REPOSITORY


@pytest.fixture
def ros_environment(monkeypatch) -> dict[str, str]:
    """
    Give this test its own ROS domain.

    The value is the environment for child processes. rclpy in the test's own process is in the
    same domain until the test ends, if the test calls `rclpy.init` itself.
    """
    with reserved_domain() as domain:
        monkeypatch.setenv('ROS_DOMAIN_ID', str(domain))
        yield dict(os.environ)


@pytest.fixture
def start_process(ros_environment):
    """
    Return a function that starts a child process in the test's own session and ROS domain.

    `start_process('-m', 'sim_bridge', 'version')` runs this interpreter with these arguments and
    returns the `Popen`; its standard output is a text pipe, including standard error. Remaining
    processes and all their children are killed at the end of the test; a test that is cut off ends
    them with SIGTERM. Keyword arguments go to `Popen`. `start_process.started` lists the
    processes.
    """
    started = []

    def start(*arguments, **options) -> subprocess.Popen:
        process = subprocess.Popen(
            ending_with_tests(sys.executable, *arguments),
            **{
                'env': ros_environment,
                'stdin': subprocess.DEVNULL,
                'stdout': subprocess.PIPE,
                'stderr': subprocess.STDOUT,
                'text': True,
                'start_new_session': True,
                **options,
            },
        )
        started.append(process)
        return process

    start.started = started
    yield start
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdout:
            process.stdout.close()
