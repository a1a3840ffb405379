"""Pictures drawn with VTK, without a display; the only file that imports VTK."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sim_bridge.foundation.arrays import FloatArray, IntArray
from sim_bridge.foundation.errors import extra_hint, MissingPackageError

ANGLE = np.radians(30.0)
"""Vertical angle of view [rad]."""
_EDGE = 40.0  # least angle between faces drawn as an edge [degrees]
_LIGHT = 0.35  # ambient light factor


class Part(NamedTuple):
    """
    Triangles with one colour.

    name: robot or body name, or mark kind: 'points', 'lines', 'arrows', 'patches'. vertices:
    (n, 3) world [m]. triangles: (m, 3), counterclockwise seen from outside. color: red, green,
    blue, opacity. is_endless: whether it stands for an infinite plane.
    """

    name: str
    vertices: FloatArray
    triangles: IntArray
    color: tuple[float, float, float, float]
    is_endless: bool = False


class View(NamedTuple):
    """Camera. eye, target: (3,) [m], z up. pixels: width and height."""

    eye: FloatArray
    target: FloatArray
    pixels: tuple[int, int]


class Stage:
    """Parts in front of a camera; parts may move between pictures."""

    def __init__(self, parts: Iterable[Part], view: View):
        """Build the stage; raises MissingPackageError without VTK."""
        try:
            from vtkmodules import vtkRenderingCore
            import vtkmodules.vtkRenderingOpenGL2  # noqa: F401 — brings the windows
        except ModuleNotFoundError as err:
            raise MissingPackageError('a picture', extra_hint('film')) from err
        self._renderer = renderer = vtkRenderingCore.vtkRenderer()
        renderer.SetBackground(1.0, 1.0, 1.0)
        self._actors = [_actor(part) for part in parts]
        for actor in self._actors:
            renderer.AddActor(actor)
        vtkRenderingCore.vtkLightKit().AddLightsToRenderer(renderer)
        renderer.SetUseDepthPeeling(True)
        camera = renderer.GetActiveCamera()
        camera.SetPosition(*view.eye)
        camera.SetFocalPoint(*view.target)
        camera.SetViewUp(*_up(view))
        camera.SetViewAngle(np.degrees(ANGLE))
        self._window = _window()
        # multisampling is incompatible with depth peeling: draw at twice the size, then halve
        self._window.SetSize(2 * view.pixels[0], 2 * view.pixels[1])
        self._window.AddRenderer(renderer)

    def place(self, number: int, rotation: FloatArray, position: FloatArray) -> None:
        """Move a part: its vertices p go to rotation @ p + position."""
        from vtkmodules.vtkCommonMath import vtkMatrix4x4

        matrix = vtkMatrix4x4()
        for row in range(3):
            for column in range(3):
                matrix.SetElement(row, column, rotation[row, column])
            matrix.SetElement(row, 3, position[row])
        self._actors[number].SetUserMatrix(matrix)

    def pixels(self) -> npt.NDArray[np.uint8]:
        """Return a picture (height, width, 3): red, green, blue, top row first."""
        image = self.image()
        width, height, _ = image.GetDimensions()
        colors = _array_of(image.GetPointData().GetScalars()).reshape(height, width, -1)
        return np.ascontiguousarray(colors[::-1, :, :3])

    def image(self) -> Any:
        """Return a picture as a VTK image."""
        from vtkmodules.vtkRenderingCore import vtkWindowToImageFilter

        self._renderer.ResetCameraClippingRange()
        self._window.Render()
        image = vtkWindowToImageFilter()
        image.SetInput(self._window)
        image.ReadFrontBufferOff()
        image.Update()
        return _halved(image.GetOutput())

    def close(self) -> None:
        """Release the window."""
        self._window.Finalize()


def draw(parts: Iterable[Part], view: View, path: Path) -> None:
    """
    Draw triangles to a PNG file.

    Raises MissingPackageError without VTK, OSError if the file cannot be written.
    """
    stage = Stage(parts, view)
    save(stage, path)
    stage.close()


def save(stage: Stage, path: Path) -> None:
    """Write a picture to a PNG file; raises OSError."""
    from vtkmodules import vtkIOImage

    writer = vtkIOImage.vtkPNGWriter()
    writer.SetInputData(stage.image())
    writer.SetCompressionLevel(9)
    writer.WriteToMemoryOn()
    writer.Write()
    path.write_bytes(_array_of(writer.GetResult()).tobytes())


def _window() -> Any:
    """Return an off-screen window; without a display VTK uses EGL or OSMesa."""
    from vtkmodules.vtkCommonCore import vtkLogger
    from vtkmodules.vtkRenderingCore import vtkRenderWindow

    before = vtkLogger.GetCurrentVerbosityCutoff()
    # VTK warns about a missing display
    vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_ERROR)
    try:
        window = vtkRenderWindow()
    finally:
        vtkLogger.SetStderrVerbosity(before)
    window.SetOffScreenRendering(True)
    window.SetMultiSamples(0)
    window.SetAlphaBitPlanes(True)
    return window


def _up(view: View) -> tuple[float, float, float]:
    """Return z, or y for a camera along z."""
    way = view.target - view.eye
    is_steep = np.hypot(way[0], way[1]) < 1e-6 * np.linalg.norm(way)
    return (0.0, 1.0, 0.0) if is_steep else (0.0, 0.0, 1.0)


def _actor(part: Part) -> Any:
    """Return triangles as a VTK actor, shaded smoothly except at edges."""
    from vtkmodules.util.numpy_support import numpy_to_vtk, numpy_to_vtkIdTypeArray
    from vtkmodules.vtkCommonCore import vtkPoints
    from vtkmodules.vtkCommonDataModel import vtkCellArray, vtkPolyData
    from vtkmodules.vtkFiltersCore import vtkCleanPolyData, vtkPolyDataNormals
    from vtkmodules.vtkRenderingCore import vtkActor, vtkPolyDataMapper

    points, cells, mesh = vtkPoints(), vtkCellArray(), vtkPolyData()
    points.SetData(numpy_to_vtk(np.ascontiguousarray(part.vertices), deep=True))
    cells.SetData(
        3, numpy_to_vtkIdTypeArray(np.ascontiguousarray(part.triangles).ravel(), deep=True)
    )
    mesh.SetPoints(points)
    mesh.SetPolys(cells)
    # merge points at one position, then split them at edges
    merged, normals, mapper = vtkCleanPolyData(), vtkPolyDataNormals(), vtkPolyDataMapper()
    merged.SetInputData(mesh)
    normals.SetInputConnection(merged.GetOutputPort())
    normals.SetFeatureAngle(_EDGE)
    mapper.SetInputConnection(normals.GetOutputPort())
    actor = vtkActor()
    actor.SetMapper(mapper)
    look = actor.GetProperty()
    *rgb, opacity = part.color
    look.SetColor(*rgb)
    look.SetOpacity(opacity)
    if part.is_endless:
        look.LightingOff()
    else:
        look.SetAmbient(_LIGHT)
        look.SetSpecular(0.15)
    # draw transparent parts from the front only
    look.SetBackfaceCulling(opacity < 1.0)
    return actor


def _array_of(data: Any) -> npt.NDArray[np.uint8]:
    from vtkmodules.util.numpy_support import vtk_to_numpy

    return np.asarray(vtk_to_numpy(data))


def _halved(image: Any) -> Any:
    """Return an image at half the size, each pixel the mean of four."""
    from vtkmodules.util.numpy_support import numpy_to_vtk
    from vtkmodules.vtkCommonDataModel import vtkImageData

    width, height, _ = image.GetDimensions()
    colors = (
        _array_of(image.GetPointData().GetScalars())
        .reshape(height // 2, 2, width // 2, 2, -1)
        .astype(float)
        .mean(axis=(1, 3))
    )
    half = vtkImageData()
    half.SetDimensions(width // 2, height // 2, 1)
    half.GetPointData().SetScalars(
        numpy_to_vtk(colors.round().astype(np.uint8).reshape(-1, colors.shape[-1]), deep=True)
    )
    return half
