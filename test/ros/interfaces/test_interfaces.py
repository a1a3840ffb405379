"""Message packages generated beside the ROS wheels."""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path
import subprocess
import sys

import pytest

from sim_bridge.foundation.errors import InterfaceBuildError
from sim_bridge.ros.interfaces import build, definitions, store
from sim_bridge.trust import ownership
from sim_bridge.trust.folders import Folders

pytestmark = [pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")]

# hashes in the released packages: control_msgs 5.8.0, controller_manager_msgs 4.46.0,
# simulation_interfaces 1.5.1, tf2_msgs 0.36.4, ros_gz_interfaces 1.0.16, actuator_msgs 0.0.1,
# vision_msgs 4.1.1
HASHES = {
    'control_msgs/msg/JointTolerance': 'c254f9cece0f3b73',
    'control_msgs/msg/JointComponentTolerance': '739ea7566931944d',
    'control_msgs/action/FollowJointTrajectory': '738ebcb7a2d7cfa4',
    'control_msgs/msg/JointTrajectoryControllerState': '51d8dd89cc624cbe',
    'control_msgs/msg/SpeedScalingFactor': '0c240f349f2b74e3',
    'control_msgs/msg/GripperCommand': '57eb8f326c9889ca',
    'control_msgs/msg/MultiDOFCommand': '033fb0fa1ffc63a8',
    'control_msgs/msg/SingleDOFState': 'fe8365f86265bddf',
    'control_msgs/msg/MultiDOFStateStamped': '08e47e3e734a7d08',
    'control_msgs/msg/InterfaceValue': '74a12144ef6b7af6',
    'control_msgs/msg/DynamicJointState': '18024c98a6269768',
    'control_msgs/srv/QueryTrajectoryState': '4a0935dffef18bc5',
    'control_msgs/action/GripperCommand': 'e17c0e644eccf14b',
    'control_msgs/action/ParallelGripperCommand': 'adfd3c1ebe8abc38',
    'controller_manager_msgs/msg/ChainConnection': '2daecd1da4b171f4',
    'controller_manager_msgs/msg/ControllerState': '9a8780ab9814b603',
    'controller_manager_msgs/msg/NamedLifecycleState': 'b7947b6f8df8f7e9',
    'controller_manager_msgs/msg/ControllerManagerActivity': '35b7de5d611b6780',
    'controller_manager_msgs/msg/HardwareInterface': 'b4c556991db81ca5',
    'controller_manager_msgs/msg/HardwareComponentState': '8723f76b60e3ea54',
    'controller_manager_msgs/srv/ConfigureController': 'b5de498113f4eabc',
    'controller_manager_msgs/srv/CleanupController': '0e5e0da84cf97150',
    'controller_manager_msgs/srv/ListControllerTypes': '873e8d2bb81b8b59',
    'controller_manager_msgs/srv/ListControllers': '4f8e36bb1fa5afde',
    'controller_manager_msgs/srv/ListHardwareComponents': '2ff105e609928671',
    'controller_manager_msgs/srv/ListHardwareInterfaces': 'c3e561a6e8cc7b9d',
    'controller_manager_msgs/srv/LoadController': 'e37f7596c50c88cf',
    'controller_manager_msgs/srv/SetHardwareComponentState': '940b15846ed3e1fb',
    'controller_manager_msgs/srv/SwitchController': 'd4ad10aa5da7808b',
    'controller_manager_msgs/srv/UnloadController': '4055728e84c04134',
    'simulation_interfaces/msg/Result': 'cf43a306adff3337',
    'simulation_interfaces/msg/Resource': '2bb1939cf80f8d2f',
    'simulation_interfaces/msg/Bounds': 'e8624fe51f0f5548',
    'simulation_interfaces/msg/EntityCategory': '43bdf7933fddf75f',
    'simulation_interfaces/msg/TagsFilter': '5c3efc51e8ed04c2',
    'simulation_interfaces/msg/EntityFilters': '8e7b12e8ea062f14',
    'simulation_interfaces/msg/EntityInfo': '3b9a2e7fa00f9a59',
    'simulation_interfaces/msg/EntityState': '2e0464a85eb80a93',
    'simulation_interfaces/msg/SimulationState': 'bb9f87ccdd98fba1',
    'simulation_interfaces/msg/SimulatorFeatures': '8b101c8529bc0ea3',
    'simulation_interfaces/msg/Spawnable': '8c22025d840e7a05',
    'simulation_interfaces/msg/SpawnEntity': '94a349a865ccf673',
    'simulation_interfaces/msg/SpawnResult': 'dbc277304b6c24bf',
    'simulation_interfaces/srv/SpawnEntity': 'd4c086345d4194a5',
    'simulation_interfaces/srv/SpawnEntities': '41703a359ee032bf',
    'simulation_interfaces/srv/DeleteEntity': 'ff7e96a5b83dc8e2',
    'simulation_interfaces/srv/GetSpawnables': '3bc0266bf8236058',
    'simulation_interfaces/srv/GetEntities': 'cb90004c48cd50f3',
    'simulation_interfaces/srv/GetEntitiesStates': '0a76170d0c1c90e1',
    'simulation_interfaces/srv/GetEntityState': '749c91f2a2353d98',
    'simulation_interfaces/srv/SetEntityState': 'ca210e7d2b66629a',
    'simulation_interfaces/srv/GetEntityInfo': '953b7ab6bfc35063',
    'simulation_interfaces/srv/GetEntityBounds': '17be8d36231178a5',
    'simulation_interfaces/srv/GetSimulatorFeatures': 'abb9439c8cf19672',
    'simulation_interfaces/srv/GetSimulationState': '3362dcebee4b1afe',
    'simulation_interfaces/srv/SetSimulationState': 'a868b916dce49974',
    'simulation_interfaces/srv/StepSimulation': '913fe0653690ce6b',
    'simulation_interfaces/srv/ResetSimulation': '4ce285d7ff9b8ac7',
    'simulation_interfaces/action/SimulateSteps': 'f0837c898e1219cd',
    'tf2_msgs/msg/TFMessage': 'e369d0f05a23ae52',
    'vision_msgs/msg/BoundingBox2D': '008eacbb0cf8f26e',
    'vision_msgs/msg/BoundingBox3D': 'bbb73a65c163d7f9',
    'vision_msgs/msg/Detection2D': '0d12b69df5c593b3',
    'vision_msgs/msg/Detection2DArray': '214274120007f4a6',
    'vision_msgs/msg/Detection3D': 'ddd703be132ab0b6',
    'vision_msgs/msg/Detection3DArray': '793f5eab9595ac1c',
    'vision_msgs/msg/LabelInfo': '3d37df4015cdf660',
    'vision_msgs/msg/ObjectHypothesis': '51da43cec11c0195',
    'vision_msgs/msg/ObjectHypothesisWithPose': '41c12344c0396c48',
    'vision_msgs/msg/Point2D': 'eab0e83f44ab4de9',
    'vision_msgs/msg/Pose2D': 'b0b5d1d7b4c20dd4',
    'vision_msgs/msg/VisionClass': '1e4a11f0fed50b56',
    'actuator_msgs/msg/Actuators': '4fb6a0060720d216',
    'ros_gz_interfaces/msg/Contact': 'ba5acbac280b8650',
    'ros_gz_interfaces/msg/Contacts': '2cf36dd51e105580',
    'ros_gz_interfaces/msg/Entity': '266a26f377057ebb',
    'ros_gz_interfaces/msg/EntityWrench': 'e5ae40a0b9b52ab0',
    'ros_gz_interfaces/msg/JointWrench': 'aa50610f0bc1a9f1',
    'controller_manager_msgs/srv/ReloadControllerLibraries': '485cd0040f8a343a',
    'simulation_interfaces/msg/NamedPose': 'b32da2a039b1840f',
    'simulation_interfaces/msg/WorldResource': 'e3b65ecf904b9b11',
    'simulation_interfaces/srv/SetEntityInfo': '867fe2b6812f3e02',
    'simulation_interfaces/srv/GetNamedPoses': 'c3d12ab920115bfd',
    'simulation_interfaces/srv/GetNamedPoseBounds': '59fa8dd2c68ba677',
    'simulation_interfaces/srv/LoadWorld': 'f210682338f195f6',
    'simulation_interfaces/srv/UnloadWorld': 'ac7f9a73df1b5b15',
    'simulation_interfaces/srv/GetCurrentWorld': '79ed4e910e1b7a1c',
    'simulation_interfaces/srv/GetAvailableWorlds': 'ce5589b5523f2732',
}


def declared() -> dict[str, str]:
    """Return name and text of every interface with a definition."""
    packages = map(definitions.read, definitions.files())
    return {
        f'{package.name}/{Path(file).with_suffix("").as_posix()}': text
        for package in packages
        for file, text in package.interfaces.items()
    }


def test_types_are_those_of_the_released_packages():
    """Have the hashes used by ROS to compare types between processes."""
    generated = {}
    for name in declared():
        package, kind, stem = name.split('/')
        module = importlib.import_module(package)
        share = Path(module.__file__).parents[2] / 'share'
        if not (share / package / kind / f'{stem}.json').exists():
            pytest.fail(f'{name} has no hash: {module.__file__}')
        described = json.loads((share / package / kind / f'{stem}.json').read_text())
        hashes = {each['type_name']: each['hash_string'] for each in described['type_hashes']}
        generated[name] = hashes[name].removeprefix('RIHS01_')[:16]
    assert generated == HASHES


def test_a_second_build_finds_the_first():
    """Return the same folder without a compiler."""
    prefix, is_new = build.build()
    assert not is_new
    assert store.find() == prefix


def test_everything_affecting_the_result_affects_its_key(tmp_path, monkeypatch):
    """Give another key for other definitions, wheels and Pythons, the same key for the same."""
    path = tmp_path / 'a.txt'
    path.write_text('package a 1.0')
    key = store.key_of([path], ['ros_rcutils-6.7.4.dist-info'])
    assert store.key_of([path], ['ros_rcutils-6.7.4.dist-info']) == key
    assert store.key_of([path], ['ros_rcutils-6.7.5.dist-info']) != key
    path.write_text('package a 1.1')
    assert store.key_of([path], ['ros_rcutils-6.7.4.dist-info']) != key


def test_missing_tools_are_named(tmp_path, monkeypatch):
    """Name the missing compiler or ROS kind, with a remedy; leave nothing."""
    monkeypatch.setenv('PATH', str(tmp_path))
    for variable in ('CC', 'CXX'):
        monkeypatch.delenv(variable, raising=False)
    path = tmp_path / 'one_msgs.txt'
    path.write_text('package one_msgs 1.0.0\ndepends std_msgs\n\ninterface msg/A.msg\nint32 a\n')
    with pytest.raises(InterfaceBuildError, match=r'neither CC in .* nor gcc or cc.*apt install'):
        build.build([path])
    monkeypatch.setattr(store, 'wheels', lambda: None)
    with pytest.raises(InterfaceBuildError, match='apt install ros-'):
        build.build([path])
    assert store.find([path]) is None


def test_processes_that_build_at_once_build_once(tmp_path, monkeypatch):
    """Let all but one wait; give all of them the same usable package, closed to other users."""
    path = tmp_path / 'one_msgs.txt'
    path.write_text('package one_msgs 1.0.0\ndepends std_msgs\n\ninterface msg/A.msg\nint32 a\n')
    script = (
        'import sys; from pathlib import Path\n'
        'from sim_bridge.ros.interfaces import build, store\n'
        'prefix, is_new = build.build([Path(sys.argv[1])]); store.offer(prefix)\n'
        'from one_msgs.msg import A; print(prefix, is_new, A(a=3).a)'
    )
    environment = {**os.environ, 'SIM_BRIDGE_CACHE_DIR': str(tmp_path / 'cache')}
    (tmp_path / 'cache').mkdir(mode=0o700)
    processes = [
        subprocess.Popen(
            [sys.executable, '-c', script, str(path)],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            umask=0,
        )
        for _ in range(3)
    ]
    told = [process.communicate(timeout=300)[0].split() for process in processes]
    assert sorted(is_new for _, is_new, _ in told) == ['False', 'False', 'True'], told
    assert len({prefix for prefix, *_ in told}) == 1
    assert {value for *_, value in told} == {'3'}
    left = [each.name for each in (tmp_path / 'cache' / 'interfaces').iterdir()]
    assert len(left) == 2, 'the package and its lock'
    prefix = Path(told[0][0])
    ownership.check_tree(prefix)
    # neither a replaced library nor a planted one is used
    monkeypatch.setattr(store, 'folders', lambda: Folders((tmp_path / 'cache',), None, ()))
    assert store.find([path]) == prefix
    [*_, library] = prefix.rglob('*.so')
    for hostile in (library.with_name('libplanted.so'), library):
        hostile.touch()
        hostile.chmod(0o777)
        with pytest.warns(RuntimeWarning, match=f'{hostile} can be written by all users'):
            assert store.find([path]) is None
        hostile.unlink()


# like `ros2 interface show`, in a Python without sim_bridge
SHOW = """
from pathlib import Path
from ament_index_python import get_package_share_path, get_resource
from control_msgs.action import FollowJointTrajectory
file = 'action/FollowJointTrajectory.action'
listed, _ = get_resource('rosidl_interfaces', 'control_msgs')
assert file in listed.splitlines(), listed
print((get_package_share_path('control_msgs') / file).read_text())
"""


def test_a_shell_finds_the_packages_by_the_printed_variables():
    """Print the variables by which other programs find modules and definitions; repeatably."""
    script = """
        eval "$("$0" -m sim_bridge interfaces)" && once=$PYTHONPATH:$AMENT_PREFIX_PATH
        eval "$("$0" -m sim_bridge interfaces)" && test "$once" = "$PYTHONPATH:$AMENT_PREFIX_PATH"
        "$0" -c "$1"
    """
    done = subprocess.run(
        ['sh', '-e', '-c', script, sys.executable, SHOW],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, 'AMENT_PREFIX_PATH': '', 'ROS_DISTRO': ''},
    )
    assert 'trajectory_msgs/JointTrajectory trajectory' in done.stdout
    assert done.stderr == 'generated before\n' * 2
