"""
A world's OpenPLX scenes, by name.

The OpenPLX readers are imported with the first scene, so worlds without scenes start faster.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from sim_bridge.foundation.validation import GivenPose
from sim_bridge.robots.owners import World
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.world.owners import MappedScene, OpenPlxScene, SceneRecord
from sim_bridge.world.robot_registry import RobotRegistry
from sim_bridge.world.spanning_tree import SpanningTree


class OpenPlxScenes:
    """Loader and registry for a world's OpenPLX scenes. scenes: by name."""

    def __init__(
        self, world: World, simulation: Simulation, registry: RobotRegistry, tree: SpanningTree
    ):
        """Start without scenes."""
        self._world, self._simulation = world, simulation
        self._registry, self._tree = registry, tree
        self.scenes: dict[str, OpenPlxScene] = {}

    def load(
        self,
        source: str | Path | MappedScene,
        model: str | None,
        name: str | None,
        pose: GivenPose,
        bundle_paths: Sequence[str | Path],
    ) -> OpenPlxScene:
        """Read a scene from a file, text or description, and add it; see `World.load_openplx`."""
        from sim_bridge.description.openplx.load import load_openplx
        from sim_bridge.description.openplx.mapping.records import MappedScene

        if not isinstance(source, MappedScene):
            source = load_openplx(source, model, bundle_paths=bundle_paths)
        return self.add(source, name, pose)

    def add(self, scene: MappedScene, name: str | None, pose: GivenPose) -> OpenPlxScene:
        """Add a whole scene, or nothing after an error; see `World.load_openplx`."""
        from sim_bridge.world.openplx import SceneLoader

        loader = SceneLoader(self._world, self._simulation, self._registry, self._tree)
        added = loader.add(scene, name, pose, self.scenes)
        self.scenes[added.name] = added
        return added

    def forget_gone(self) -> None:
        """Forget scenes whose robots have all left the world; their names become free."""
        for scene in list(self.scenes.values()):
            if scene.record.robots and not scene.robots:
                del self.scenes[scene.name]

    def restore(self, records: Iterable[SceneRecord]) -> None:
        """Recreate a copied world's scenes; its robots and joints exist already."""
        for record in records:
            from sim_bridge.world.openplx import OpenPlxScene

            self.scenes[record.name] = OpenPlxScene(self._world, record)
