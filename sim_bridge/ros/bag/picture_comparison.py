"""Pictures of a replay, compared with the hashes in its bag."""

from __future__ import annotations

from sim_bridge.foundation.errors import brief
from sim_bridge.ros.bag.recording import cameras_of
from sim_bridge.sensors.picture_hashes import Hashes, SampledHashes
from sim_bridge.world.world import World


class PictureComparison:
    """Renders each new picture in a replay; a bag names it then, or after its latency."""

    def __init__(self) -> None:
        """Start without pictures."""
        self._sampled = SampledHashes()
        self._known: dict[str, dict[int, Hashes]] = {}

    def look(self, world: World) -> None:
        """Render the new samples, after each step."""
        for camera, step, hashes in self._sampled.take(cameras_of(world)):
            self._known.setdefault(camera, {})[step] = hashes

    def difference(self, camera: str, step: int, hashes: Hashes) -> str:
        """Return the difference from recorded hashes; '' for none. step: of the sample."""
        known = self._known.get(camera, {})
        own = known.get(step)
        # earlier pictures have been recorded or dropped
        self._known[camera] = {each: known[each] for each in known if each > step}
        place = f'camera {brief(camera)}, sample of step {brief(step)}'
        if own is None:
            return f'{place}: there is no such picture now'
        for output, recorded in hashes.items():
            if own.get(output) != recorded:
                now = own.get(output, 'missing')
                return f'{place}: the {brief(output)} is now {now}; recorded was {brief(recorded)}'
        return ''
