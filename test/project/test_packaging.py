"""The package as installed by pip and colcon; manifest, setup script and pins agree."""

from __future__ import annotations

import ast
import itertools
import os
from pathlib import Path
import runpy
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
import pytest
import setuptools

FOLDERS = ('config', 'gallery', 'launch', 'urdf')

# rosdep keys of packages that are not ROS packages, or have another name on PyPI
ROSDEP_TO_PYPI = {
    'python3-argcomplete': 'argcomplete',
    'python3-collada': 'pycollada',
    'python3-numpy': 'numpy',
    'python3-pil': 'pillow',
    'python3-rich': 'rich',
    'python3-scipy': 'scipy',
    'python3-transforms3d': 'transforms3d',
    'python3-yaml': 'pyyaml',
    'urdfdom_py': 'urdf-parser-py',
    'xacro': 'xacro',
}

# packages without a rosdep key for Ubuntu 24.04; docs/installation.md explains their installation
BY_PIP = {'llvmlite', 'trimesh'}

# packages imported under another name
IMPORT_TO_PYPI = {'PIL': 'pillow', 'urdf_parser_py': 'urdf-parser-py', 'yaml': 'pyyaml'}

# extra `pictures`: needed only for drawing
OF_PICTURES = {'vtkmodules'}

# extra `meshes`
OF_MESHES = {'coacd', 'fast_simplification'}

# extra `view`: viser brings the others
OF_VIEW = {'msgspec', 'viser', 'websockets'}
# extra `mjcf`
OF_MJCF = {'mujoco'}
# extra `usd`
OF_USD = {'pxr'}
# extra `plot`
OF_PLOTS = {'matplotlib', 'plotly'}

# extra `gym`
OF_ENVIRONMENTS = {'gymnasium'}

# extras `sweep` and `ray`
OF_SWEEPS = {'pyarrow', 'ray'}

# extra `film`
OF_FILMS = {'imageio_ffmpeg'}

# imported by our dependencies, and optional there
IMPORTED_BY_OTHERS = {'pycollada'}

# needed by launch/ alone, and not on PyPI
LAUNCH_PACKAGES = {'launch', 'launch_ros'}

# started by the launch file on request, and not on PyPI
LAUNCHED_PACKAGES = {'robot_state_publisher', 'ros2bag', 'rviz2'}

# optional messages: without wheels, but generated from a wheel
OPTIONAL_MESSAGES = {
    'control_msgs',
    'controller_manager_msgs',
    'simulation_interfaces',
    'tf2_msgs',
}

PIP = (sys.executable, '-m', 'pip', '--disable-pip-version-check')

PRINT_SHARE = 'from sim_bridge.description.resources import share_directory as s; print(s())'

PYTHONS = ('3.10', '3.11', '3.12', '3.13', '3.14')


@pytest.fixture(scope='module')
def manifest(repository):
    """Return package.xml's root element."""
    return ElementTree.parse(repository / 'package.xml').getroot()


@pytest.fixture
def setup_arguments(repository, monkeypatch):
    """Return the arguments passed by setup.py to setuptools."""
    arguments = {}
    monkeypatch.setattr(setuptools, 'setup', arguments.update)
    runpy.run_path(str(repository / 'setup.py'))
    return arguments


@pytest.fixture(scope='module')
def source(repository, tmp_path_factory):
    """Return a copy of the packed files: builds neither litter the checkout nor find litter."""
    copy = tmp_path_factory.mktemp('source') / 'sim_bridge'
    copy.mkdir()
    for name in ('package.xml', 'setup.py', 'setup.cfg', 'pyproject.toml', 'LICENSE'):
        shutil.copy(repository / name, copy)
    no_litter = shutil.ignore_patterns('__pycache__')
    for name in ('resource', 'sim_bridge', *FOLDERS):
        shutil.copytree(repository / name, copy / name, ignore=no_litter)
    return copy


@pytest.fixture(scope='module')
def environment(repository):
    """Return an environment with all importable packages, except this checkout."""
    hidden = ('AMENT_PREFIX_PATH', 'COLCON_PREFIX_PATH', 'CMAKE_PREFIX_PATH')
    inherited = {name: value for name, value in os.environ.items() if name not in hidden}
    in_checkout = {str(repository), str(repository / 'test'), ''}
    path = [folder for folder in sys.path if folder not in in_checkout]
    return {**inherited, 'PYTHONPATH': os.pathsep.join(path)}


def run(*command, **options) -> str:
    """Run a command and return its output; a failure raises an error with the output."""
    result = subprocess.run(
        list(map(str, command)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **options,
    )
    assert result.returncode == 0, f'{command}:\n{result.stdout}'
    return result.stdout


def files_below(folder: Path) -> set[str]:
    """List the files below a folder, by their paths in it."""
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob('*')
        if path.is_file() and '__pycache__' not in path.parts
    }


def assert_complete_share(share: Path, source: Path):
    """Check that a share folder holds launch, config, urdf without its scripts, package.xml."""
    assert (share / 'package.xml').read_bytes() == (source / 'package.xml').read_bytes()
    for folder in FOLDERS:
        expected = files_below(source / folder)
        if folder == 'urdf':
            expected = {name for name in expected if not name.endswith('.py')}
        assert expected, f'{folder} is empty'
        assert files_below(share / folder) == expected
    index = share.parent / 'ament_index' / 'resource_index' / 'packages'
    assert (index / 'sim_bridge').is_file()


def imported_packages(folder: Path) -> set[str]:
    """List the imports of Python files below a folder, except Python's own and this package."""
    found = set()
    for path in folder.rglob('*.py'):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found.update(alias.name.split('.')[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                found.add(node.module.split('.')[0])
    return found - set(sys.stdlib_module_names) - {'sim_bridge'}


def test_name_and_version_come_from_the_manifest(manifest, setup_arguments):
    """Give pip the name, version, description and license read by ROS tools."""
    for name in ('name', 'version', 'description', 'license'):
        assert setup_arguments[name] == manifest.findtext(name)
    assert setup_arguments['name'] == 'sim_bridge'
    assert setup_arguments['license'] == 'Apache-2.0'


def test_package_reports_its_version(manifest):
    """Report the version as `sim_bridge.__version__`."""
    import sim_bridge

    assert sim_bridge.__version__ == manifest.findtext('version')


def test_manifest_and_setup_name_the_same_dependencies(manifest, setup_arguments):
    """Declare the same for rosdep and pip, including the wheels of the ROS extras."""
    declared = {element.text for element in manifest.findall('exec_depend')}
    required = {Requirement(text).name for text in setup_arguments['install_requires']}
    assert {ROSDEP_TO_PYPI[key] for key in declared if key in ROSDEP_TO_PYPI} == (
        required - BY_PIP
    )
    of_run, of_tests = (
        {
            Requirement(text).name.removeprefix('ros-jazzy-').replace('-', '_')
            for text in setup_arguments['extras_require'][extra]
        }
        for extra in ('ros', 'ros-test')
    )
    ros_packages = (
        declared - set(ROSDEP_TO_PYPI) - LAUNCH_PACKAGES - LAUNCHED_PACKAGES - OPTIONAL_MESSAGES
    )
    for_tests = {element.text for element in manifest.findall('test_depend')} - {'python3-pytest'}
    # a ROS installation brings its middleware; with wheels it has to be chosen
    assert ros_packages == of_run - {'rmw_fastrtps_cpp'}
    assert for_tests == of_tests


def test_imports_and_declarations_agree(manifest, repository):
    """Declare exactly the imported packages."""
    imported = imported_packages(repository / 'sim_bridge')
    in_launch = imported_packages(repository / 'launch')
    assert imported.isdisjoint(LAUNCH_PACKAGES)
    pypi_to_rosdep = {name: key for key, name in ROSDEP_TO_PYPI.items()}
    needed = {IMPORT_TO_PYPI.get(name, name) for name in imported | in_launch}
    needed -= BY_PIP | OF_PICTURES | OF_MESHES | OF_VIEW | OF_PLOTS | OF_FILMS | OF_ENVIRONMENTS
    needed -= OF_SWEEPS | OF_MJCF | OF_USD
    needed |= IMPORTED_BY_OTHERS
    declared = {element.text for element in manifest.findall('exec_depend')}
    assert {pypi_to_rosdep.get(name, name) for name in needed} == (
        declared - OPTIONAL_MESSAGES - LAUNCHED_PACKAGES
    )


@pytest.mark.parametrize('python', PYTHONS)
def test_pins_satisfy_the_ranges(repository, setup_arguments, python):
    """Pin every dependency of every extra exactly once on every Python, within its range."""
    environment = {'python_version': python}
    pins = {}
    for file in (repository / 'requirements').glob('*.txt'):
        for line in file.read_text().splitlines():
            if line.startswith('#'):
                continue
            pin = Requirement(line)
            if pin.marker is None or pin.marker.evaluate(environment):
                name = canonicalize_name(pin.name)
                assert name not in pins, f'{name} is pinned twice'
                pins[name] = str(pin.specifier).removeprefix('==')
    extras = setup_arguments['extras_require'].values()
    ranges = [*setup_arguments['install_requires'], *itertools.chain(*extras)]
    for requirement in map(Requirement, ranges):
        name, marker = canonicalize_name(requirement.name), requirement.marker
        is_needed = marker is None or marker.evaluate(environment)
        assert is_needed == (name in pins), f'{requirement} on Python {python}'
        if is_needed:
            pin = pins[name]
            assert requirement.specifier.contains(pin), f'{requirement}, but the pin is {pin}'


@pytest.mark.parametrize(
    ('target', 'files', 'others'),
    [
        ('tools', ('view', 'plot', 'gym', 'sweep'), ('bench', 'test', 'pictures', 'ray')),
        ('docs', ('docs',), ('bench', 'lint', 'meshes')),
        ('test', ('bench', 'docs', 'film', 'lint', 'test'), ('browser', 'pictures')),
    ],
)
def test_make_installs_the_needs_of_a_target(repository, tmp_path, target, files, others):
    """Install neither comparison engines nor the test dependencies for tools and documents."""
    told = run('make', '-n', target, f'VENV={tmp_path}', cwd=repository)
    for name in files:
        assert f'--requirement requirements/{name}.txt' in told
    for name in others:
        assert f'--requirement requirements/{name}.txt' not in told


def test_wheel_installs_everything(source, environment, tmp_path, manifest):
    """Build a wheel, install it in an empty prefix, and find share folder and commands."""
    run(*PIP, 'wheel', '--no-deps', '--no-build-isolation', '--no-index', '-w', tmp_path, source)
    prefix = tmp_path / 'prefix'
    run(sys.executable, '-m', 'venv', '--without-pip', prefix)
    [wheel] = tmp_path.glob('*.whl')
    pip = (*PIP, '--python', prefix / 'bin/python')
    run(*pip, 'install', '--ignore-installed', '--no-deps', '--no-index', wheel)
    assert_complete_share(prefix / 'share/sim_bridge', source)

    version = run(prefix / 'bin/sim_bridge', 'version', env=environment, cwd=tmp_path)
    assert version.startswith(f'sim_bridge {manifest.findtext("version")} in {prefix}')
    for controller in ('pd_controller', 'computed_torque_controller', 'velocity_controller'):
        assert os.access(prefix / 'bin' / controller, os.X_OK)
    share = run(prefix / 'bin/python', '-c', PRINT_SHARE, env=environment, cwd=tmp_path)
    assert share.strip() == str(prefix / 'share/sim_bridge')
    # without it type checkers take no types from the package
    assert list(prefix.glob('lib/*/site-packages/sim_bridge/py.typed'))


def test_editable_install_uses_the_checkout(source, environment, tmp_path):
    """Leave no copies in an editable install: an edit in the checkout must take effect."""
    prefix = tmp_path / 'prefix'
    run(sys.executable, '-m', 'venv', '--without-pip', prefix)
    options = ('--ignore-installed', '--no-deps', '--no-index', '--no-build-isolation')
    pip = (*PIP, '--python', prefix / 'bin/python')
    run(*pip, 'install', *options, '--editable', source, env=environment)
    assert not (prefix / 'share/sim_bridge').exists()
    # after the prefix's own packages: this interpreter may have an editable install as well
    others = environment['PYTHONPATH'].split(os.pathsep)
    code = f'import sys; sys.path += {others}; {PRINT_SHARE}'
    alone = {name: value for name, value in environment.items() if name != 'PYTHONPATH'}
    share = run(prefix / 'bin/python', '-c', code, env=alone, cwd=tmp_path)
    assert share.strip() == str(source)


@pytest.mark.parametrize(
    'options',
    [
        pytest.param([], id='copy'),
        pytest.param(['--symlink-install'], id='symlink', marks=pytest.mark.long),
    ],
)
def test_colcon_builds_the_package(source, environment, tmp_path, manifest, options):
    """Build with colcon, source the result, find share folder and command as ROS does."""
    shutil.copytree(source, tmp_path / 'src/sim_bridge')
    run(sys.executable, '-m', 'colcon', 'build', *options, env=environment, cwd=tmp_path)
    prefix = tmp_path / 'install/sim_bridge'
    assert_complete_share(prefix / 'share/sim_bridge', source)

    # same as `ros2 run sim_bridge sim_bridge version` after `. install/setup.bash`
    script = '. install/setup.bash && "${AMENT_PREFIX_PATH%%:*}/lib/sim_bridge/sim_bridge" version'
    output = run('bash', '-c', script, env=environment, cwd=tmp_path)
    assert f'sim_bridge {manifest.findtext("version")} in {tmp_path}' in output
    for controller in ('pd_controller', 'computed_torque_controller', 'velocity_controller'):
        assert os.access(prefix / 'lib/sim_bridge' / controller, os.X_OK)
