"""
Fast DDS profile for the camera process: shared memory for whole pictures.

Fast DDS's own segment has 512 kB; larger messages go by UDP, and some are lost (rmw_fastrtps#739).
Readers need no profile: they map the sender's segment.
"""

from __future__ import annotations

from collections.abc import Iterable
import os
from pathlib import Path

from sim_bridge.ros.camera.topics import CameraTopics

_VARIABLES = ('FASTRTPS_DEFAULT_PROFILES_FILE', 'FASTDDS_DEFAULT_PROFILES_FILE')
_MESSAGES = 4  # in the segment
_LEAST, _MOST = 1 << 20, 48 << 20  # bytes; /dev/shm of a container often has 64 MiB
_HEADERS = 4096  # bytes of a message beside its pixels

_PROFILE = """<?xml version="1.0" encoding="UTF-8"?>
<dds xmlns="http://www.eprosima.com"><profiles>
<transport_descriptors>
<transport_descriptor><transport_id>pictures</transport_id><type>SHM</type>
<segment_size>{segment}</segment_size><maxMessageSize>{message}</maxMessageSize>
</transport_descriptor>
<transport_descriptor><transport_id>udp</transport_id><type>UDPv4</type></transport_descriptor>
</transport_descriptors>
<participant profile_name="cameras" is_default_profile="true"><rtps>
<userTransports><transport_id>pictures</transport_id><transport_id>udp</transport_id>
</userTransports><useBuiltinTransports>false</useBuiltinTransports>
</rtps></participant>
</profiles></dds>
"""


def environment_with_profile(cameras: Iterable[CameraTopics], file: Path) -> dict[str, str]:
    """
    Return the camera process's environment for these cameras; writes its profile to a file.

    The user's own profile stays.
    """
    environment = dict(os.environ)
    if any(name in environment for name in _VARIABLES):
        return environment
    largest = max(
        (each.message_bytes(key) for each in cameras for key in each.topics), default=_LEAST
    )
    segment = min(max(_MESSAGES * (largest + _HEADERS), _LEAST), _MOST)
    file.write_text(_PROFILE.format(segment=segment, message=min(largest + _HEADERS, segment)))
    return environment | dict.fromkeys(_VARIABLES, str(file))
