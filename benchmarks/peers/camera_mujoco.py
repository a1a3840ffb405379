"""Pictures by MuJoCo's renderer, on OpenGL without a display."""

from __future__ import annotations

import mujoco
import numpy as np

from benchmarks.shots import FAR, Shot, SUN


class MuJoCoCamera:
    """Scene in MuJoCo, and its renderer."""

    has_lenses, has_colors = False, True
    version = mujoco.__version__

    def __init__(self, shot: Shot, samples: int):
        """Build the model and the OpenGL context."""
        (width, height), spec = shot.size, mujoco.MjSpec()
        spec.visual.global_.offwidth, spec.visual.global_.offheight = width, height
        spec.visual.quality.offsamples = 0 if samples == 1 else samples
        # multiples of the extent
        spec.stat.extent, spec.visual.map.znear, spec.visual.map.zfar = 1.0, 0.01, FAR
        world = spec.worldbody
        world.add_light(
            type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
            dir=SUN,
            pos=[-2.0 * each for each in SUN],
            castshadow=True,
        )
        world.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=(50, 50, 1))
        for number, each in enumerate(shot.meshes):
            spec.add_mesh(
                name=f'part{number}',
                uservert=each.vertices.ravel(),
                userface=each.triangles.ravel(),
                inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL,
            )
            world.add_geom(
                type=mujoco.mjtGeom.mjGEOM_MESH, meshname=f'part{number}', pos=each.position
            )
        # its cameras look along -z, with y up
        turned = (shot.axes * [[1.0], [-1.0], [-1.0]]).T
        quaternion = np.zeros(4)
        mujoco.mju_mat2Quat(quaternion, turned.ravel())
        world.add_camera(
            name='eye', pos=shot.eye, quat=quaternion, fovy=np.degrees(shot.vertical_angle)
        )
        self._model = spec.compile()
        self._data = mujoco.MjData(self._model)
        mujoco.mj_forward(self._model, self._data)
        self._renderer = mujoco.Renderer(self._model, height, width)

    def depth(self) -> np.ndarray:
        """Return the depths."""
        self._renderer.enable_depth_rendering()
        self._renderer.update_scene(self._data, 'eye')
        found = self._renderer.render()
        return np.where(found < 0.999 * FAR, found, np.inf)

    def color(self) -> np.ndarray:
        """Return the image."""
        self._renderer.disable_depth_rendering()
        self._renderer.update_scene(self._data, 'eye')
        self._renderer.scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = 0
        return self._renderer.render()
