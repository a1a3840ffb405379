"""
One camera in a process: OpenGL libraries do not share one.

Its parent sends (name, shot, samples, options) as a pickle, then 'depth' or 'color' for each
picture; it gets back (processor seconds, seconds, picture).
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from typing import Any

import numpy as np

from benchmarks.peers import CAMERA_ENTRIES, load_camera, MissingPeerError
from benchmarks.shots import Shot

# one thread, and no display
_ENVIRONMENT = {
    'LP_NUM_THREADS': '0',
    'MUJOCO_GL': 'egl',
    'OMP_NUM_THREADS': '1',
    'OPENBLAS_NUM_THREADS': '1',
}


class CameraProcess:
    """A camera from CAMERA_ENTRIES, in its own process."""

    def __init__(self, name: str, shot: Shot, samples: int, **options: object):
        """Start it; raises MissingPeerError if the engine or its OpenGL is missing."""
        self._process = subprocess.Popen(
            [sys.executable, '-m', 'benchmarks.peers.camera_process'],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **_ENVIRONMENT},
        )
        self.version, self.has_lenses, self.has_colors = self._ask((name, shot, samples, options))

    def take(self, picture: str) -> tuple[float, float, np.ndarray]:
        """Take a picture, 'depth' or 'color'; return processor time, time [s] and the picture."""
        return self._ask(picture)

    def close(self) -> None:
        """End the process."""
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def _ask(self, question: object) -> Any:
        try:
            pickle.dump(question, self._process.stdin)
            self._process.stdin.flush()
            found = pickle.load(self._process.stdout)
        except (BrokenPipeError, EOFError):
            found = 'the process ended'
        if isinstance(found, str):
            self.close()
            raise MissingPeerError(found)
        return found


def main() -> None:
    """Answer the parent."""
    out, questions = os.fdopen(os.dup(1), 'wb'), sys.stdin.buffer
    # output of libraries is no answer
    os.dup2(2, 1)
    name, shot, samples, options = pickle.load(questions)
    try:
        camera: Any = load_camera(name)(shot, samples, **options)
        answer: Any = camera.version, camera.has_lenses, camera.has_colors
    except Exception as err:  # noqa: BLE001 — an engine without its OpenGL raises anything
        answer = f'{CAMERA_ENTRIES[name].module}: {err}'
    while True:
        pickle.dump(answer, out)
        out.flush()
        try:
            picture = pickle.load(questions)
        except EOFError:
            return
        begin, start = time.process_time(), time.perf_counter()
        found = getattr(camera, picture)()
        spent = time.process_time() - begin, time.perf_counter() - start
        answer = (*spent, found)


if __name__ == '__main__':
    main()
