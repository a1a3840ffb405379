"""A lock per user, ROS domain and namespace: two `sim_bridge run` would mix their topics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import contextlib
import fcntl
import os
from pathlib import Path
from urllib.parse import quote

from sim_bridge.foundation.errors import StateError
from sim_bridge.trust.folders import runtime_folder

_MOST_BYTES = 500  # longest text read from the lock file
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


@contextlib.contextmanager
def domain_lock(robot: str, namespace: str, environment: Mapping[str, str]) -> Iterator[None]:
    """
    Hold the ROS domain of `environment` while in the context; the system frees it at any exit.

    robot: name of the simulated robot or scene, shown to later processes. namespace: of the
    simulator node. Raises StateError if another process of this user holds the domain. If no lock
    file can be created, for example on a full disk or without a private folder, nothing is held.
    """
    domain = environment.get('ROS_DOMAIN_ID') or '0'
    path = lock_file(domain, namespace, environment)
    try:
        descriptor = os.open(path, _FLAGS, 0o600) if path is not None else -1
    except OSError:
        descriptor = -1
    if descriptor < 0:
        yield
        return
    with os.fdopen(descriptor, 'r+b', buffering=0) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            name = file.read(_MOST_BYTES).decode(errors='replace').strip() or 'another simulation'
            other = int(domain) + 1 if domain.isdigit() and int(domain) < 101 else 1
            raise StateError(
                f'{name} runs on ROS domain {domain} already, and the two would mix their topics: '
                f'end it, or set another domain for this one, as ROS_DOMAIN_ID={other}'
            ) from None
        except OSError:
            # the file system has no locks
            yield
            return
        file.truncate(0)
        file.write(f'{robot} (sim_bridge run, process {os.getpid()})'.encode())
        yield


# Domains up to 101 keep DDS below the ephemeral ports of Linux; 0 is the default.
_DOMAINS = range(1, 102)


@contextlib.contextmanager
def any_domain(robot: str, environment: Mapping[str, str]) -> Iterator[int]:
    """
    Hold a ROS domain free of this user's other processes: preferably that of `environment`.

    robot: name of the simulated robot or scene, shown to later processes. Raises StateError if
    all domains are held.
    """
    first, own = 37 * os.getpid(), environment.get('ROS_DOMAIN_ID', '')
    others = [_DOMAINS[(first + number) % len(_DOMAINS)] for number in range(len(_DOMAINS))]
    # 0 is everybody's default
    for domain in [*([int(own)] if own.isdigit() and int(own) else []), *others]:
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(
                    domain_lock(robot, '', {**environment, 'ROS_DOMAIN_ID': str(domain)})
                )
            except StateError:
                continue
            yield domain
            return
    raise StateError(
        f'all ROS domains from {_DOMAINS.start} to {_DOMAINS.stop - 1} of this machine are in use'
    )


def lock_file(domain: str, namespace: str, environment: Mapping[str, str]) -> Path | None:
    """
    Return the lock file for a domain and namespace; None without a private folder.

    No other user can make or lock it, see `runtime_folder`.
    """
    folder = runtime_folder(environment)
    # rcl reads 00 as 0; escaped words have no comma, so different pairs have different files
    number = str(int(domain)) if domain.isascii() and domain.isdigit() else domain
    space = '/'.join(filter(None, namespace.split('/')))
    name = f'{quote(number, safe="")},{quote(space, safe="")}'
    return None if folder is None else folder / f'sim_bridge_run_{name}.lock'
