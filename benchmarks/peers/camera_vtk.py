"""Pictures by VTK, on OpenGL without a display; without shadows."""

from __future__ import annotations

import numpy as np
from vtkmodules import vtkCommonCore, vtkCommonDataModel, vtkRenderingCore
from vtkmodules.util.numpy_support import numpy_to_vtk, numpy_to_vtkIdTypeArray, vtk_to_numpy
import vtkmodules.vtkRenderingOpenGL2  # noqa: F401 — brings the windows

from benchmarks.shots import FAR, Shot, SUN

_NEAR = 0.01
_GROUND = 50.0  # half a side [m]


class VtkCamera:
    """Scene in VTK, and its window."""

    has_lenses, has_colors = False, True
    version = vtkCommonCore.vtkVersion.GetVTKVersion()

    def __init__(self, shot: Shot, samples: int):
        """Build the actors and the OpenGL context."""
        self._size = shot.size
        self._renderer = vtkRenderingCore.vtkRenderer()
        for each in shot.meshes:
            self._add(each.vertices, each.triangles, each.position)
        square = np.array([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)], float)
        self._add(_GROUND * square, np.array([(0, 1, 2), (0, 2, 3)]), (0.0, 0.0, 0.0))
        light = vtkRenderingCore.vtkLight()
        light.SetLightTypeToSceneLight()
        light.SetPosition(*(-100.0 * np.array(SUN)))
        light.SetFocalPoint(0.0, 0.0, 0.0)
        self._renderer.AddLight(light)
        camera = self._renderer.GetActiveCamera()
        camera.SetPosition(*shot.eye)
        camera.SetFocalPoint(*shot.target)
        camera.SetViewUp(0.0, 0.0, 1.0)
        camera.SetViewAngle(np.degrees(shot.vertical_angle))
        camera.SetClippingRange(_NEAR, FAR)
        self._window = vtkRenderingCore.vtkRenderWindow()
        self._window.SetOffScreenRendering(1)
        self._window.SetMultiSamples(0 if samples == 1 else samples)
        self._window.SetSize(*shot.size)
        self._window.AddRenderer(self._renderer)

    def _add(self, vertices: np.ndarray, triangles: np.ndarray, position: tuple) -> None:
        data, points = vtkCommonDataModel.vtkPolyData(), vtkCommonCore.vtkPoints()
        points.SetData(numpy_to_vtk(np.ascontiguousarray(vertices, np.float32), deep=True))
        cells = vtkCommonDataModel.vtkCellArray()
        rows = np.column_stack([np.full(len(triangles), 3), triangles]).astype(np.int64)
        cells.ImportLegacyFormat(numpy_to_vtkIdTypeArray(rows.ravel(), deep=True))
        data.SetPoints(points)
        data.SetPolys(cells)
        mapper, actor = vtkRenderingCore.vtkPolyDataMapper(), vtkRenderingCore.vtkActor()
        mapper.SetInputData(data)
        actor.SetMapper(mapper)
        actor.SetPosition(*position)
        self._renderer.AddActor(actor)

    def depth(self) -> np.ndarray:
        """Return the depths."""
        self._render()
        width, height = self._size
        values = vtkCommonCore.vtkFloatArray()
        self._window.GetZbufferData(0, 0, width - 1, height - 1, values)
        share = vtk_to_numpy(values).reshape(height, width)[::-1].astype(float)
        depth = _NEAR * FAR / (FAR - share * (FAR - _NEAR))
        return np.where(share < 1.0, depth, np.inf)

    def color(self) -> np.ndarray:
        """Return the image."""
        self._render()
        width, height = self._size
        values = vtkCommonCore.vtkUnsignedCharArray()
        self._window.GetPixelData(0, 0, width - 1, height - 1, 1, values, 0)
        return vtk_to_numpy(values).reshape(height, width, 3)[::-1].copy()

    def _render(self) -> None:
        # an unchanged window would not be drawn again
        self._renderer.Modified()
        self._window.Render()
