"""Commands `manipapy calibrate …`: boards, cameras, stereo pairs and hand-eye calibration from folders of images.

`manipapy calibrate capture`, which takes the images from topics, joins from the ROS side.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from ..errors import InputError
from .json_text import print_json
from .options import BaseLink, Json, PackagePath, TipLink, XacroArg, xacro_arguments
from .progress import progress

if TYPE_CHECKING:
    from ..calibration import Board
    from ..model import Chain, Robot

calibrate = typer.Typer(
    no_args_is_help=True,
    help="Calibrate cameras: one, a stereo pair, or hand-eye.",
)

# typer evaluates annotations itself, on Python 3.10 as well, hence Optional.
Folder = Annotated[Path, typer.Argument(help="Folder of the images.")]
BoardName = Annotated[str, typer.Option("--board", help="charuco or chessboard.")]
Corners = Annotated[str, typer.Option(help="Inner corners along a row and a column, one less than squares.")]
Square = Annotated[float, typer.Option(help="Edge of a square [m].")]
Marker = Annotated[float, typer.Option(help="Edge of a ChArUco marker [m]; 0: three quarters of a square.")]
Dictionary = Annotated[str, typer.Option(help="ArUco dictionary of a ChArUco board.")]
Output = Annotated[Optional[Path], typer.Option("--output", "-o", help="File or folder to write.")]  # noqa: UP045
SetupName = Annotated[str, typer.Option("--setup", help="hand: camera on the hand; beside: camera beside the robot.")]
OptionalRobot = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--robot", help="A bundled name, a description file or a robot folder."),
]


def board_of(kind: str, corners: str, square: float, marker: float, dictionary: str) -> Board:
    """The board that the options describe."""
    from ..calibration import Board, BoardKind

    known = [entry.value for entry in BoardKind]
    if kind not in known:
        raise InputError(f"--board is {kind!r}; choose {' or '.join(known)}")
    try:
        columns, rows = (int(word) for word in corners.lower().split("x"))
    except ValueError:
        raise InputError(f"--corners is {corners!r}; write such as 9x6") from None
    return Board(BoardKind(kind), columns, rows, square, marker, dictionary)


@calibrate.command()
def board(
    output: Annotated[Path, typer.Argument(help="Image to write.")],
    kind: BoardName = "charuco",
    corners: Corners = "8x5",
    square: Square = 0.03,
    marker: Marker = 0.0,
    dictionary: Dictionary = "4X4_250",
    dpi: Annotated[int, typer.Option(help="Pixels per inch of the printer.")] = 300,
) -> None:
    """Write a board for printing.

    Measure a square of the print: the scale of all results depends on it.

    Example: `manipapy calibrate board board.png --corners 8x5 --square 0.03`
    """
    from ..perception.stereo.images import opencv

    described = board_of(kind, corners, square, marker, dictionary)
    pixels = round(square / 0.0254 * dpi)
    if not 8 <= pixels <= 2000:
        raise InputError(f"a square would have {pixels} pixels; choose --dpi for 8 to 2000")
    if not opencv().imwrite(str(output), described.image(pixels)):
        raise InputError(f"{output} cannot be written; give a .png file in a folder that exists")
    print(f"{output}: print at {dpi} dpi without scaling; a square has {1e3 * square:g} mm")


@calibrate.command()
def camera(
    folder: Folder,
    kind: BoardName = "charuco",
    corners: Corners = "8x5",
    square: Square = 0.03,
    marker: Marker = 0.0,
    dictionary: Dictionary = "4X4_250",
    output: Output = None,
    name: Annotated[str, typer.Option(help="Name of the camera in the file.")] = "camera",
    as_json: Json = False,
) -> None:
    """Calibrate one camera from the images of a folder.

    The result is written as ROS drivers read it.

    Example: `manipapy calibrate camera images --board chessboard --corners 9x6 --square 0.025`
    """
    from ..calibration import calibrate_camera
    from ..calibration.files import image_files, read_image, save_camera

    files = image_files(folder)
    described = board_of(kind, corners, square, marker, dictionary)
    names = [path.name for path in files]
    with progress(f"reading {folder}") as display:
        images = [read_image(path) for path in files]
        display.update(0, len(files), "looking for the board")
        found = calibrate_camera(images, described, names, progress=display.update)
    path = output or folder / "camera.yaml"
    save_camera(found.camera, path, name)
    data = {"file": str(path), "residual": found.residual, "K": found.camera.K, "D": found.camera.D,
            "sigma": found.sigma, "views": dict(found.view_residuals), "warnings": found.warnings}  # fmt: skip
    _say(as_json, data, f"{found.describe()}\n{path}")


@calibrate.command()
def stereo(
    folder: Folder,
    kind: BoardName = "charuco",
    corners: Corners = "8x5",
    square: Square = 0.03,
    marker: Marker = 0.0,
    dictionary: Dictionary = "4X4_250",
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Calibrate a stereo pair from the images of a folder.

    They are named `left…` and `right…`; the result is in left.yaml and right.yaml.

    Example: `manipapy calibrate stereo pairs --board chessboard --corners 9x6 --square 0.025`
    """
    from ..calibration import calibrate_stereo
    from ..calibration.files import image_pairs, read_image, save_camera

    listed = image_pairs(folder)
    described = board_of(kind, corners, square, marker, dictionary)
    with progress(f"reading {folder}") as display:
        pairs = [(read_image(left), read_image(right)) for _, left, right in listed]
        display.update(0, len(pairs), "looking for the board")
        found = calibrate_stereo(pairs, described, [f"pair {name}" for name, _, _ in listed], progress=display.update)
    place = output or folder
    place.mkdir(parents=True, exist_ok=True)
    for side, one in (("left", found.stereo.left), ("right", found.stereo.right)):
        save_camera(one, place / f"{side}.yaml", side)
    data = {"files": [str(place / "left.yaml"), str(place / "right.yaml")], "residual": found.reprojection_error,
            "epipolar_error": found.epipolar_error, "baseline": found.stereo.baseline,
            "T_left_right": found.T_left_right, "warnings": found.warnings}  # fmt: skip
    _say(as_json, data, f"{found.describe()}\n{place / 'left.yaml'}, {place / 'right.yaml'}")


@calibrate.command("hand-eye")
def hand_eye(
    folder: Annotated[Path, typer.Argument(help="Folder of the images and of poses.yaml.")],
    setup: SetupName = "hand",
    kind: BoardName = "charuco",
    corners: Corners = "8x5",
    square: Square = 0.03,
    marker: Marker = 0.0,
    dictionary: Dictionary = "4X4_250",
    camera_file: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--camera", help="Calibration of the camera; default: camera.yaml in the folder."),
    ] = None,
    robot: OptionalRobot = None,
    base: BaseLink = None,
    tip: TipLink = None,
    package_path: PackagePath = None,
    xacro_arg: XacroArg = None,
    parent: Annotated[str, typer.Option(help="Link that the camera is fixed to; default: tip or base.")] = "",
    child: Annotated[str, typer.Option(help="Optical frame of the camera; default: that of the images.")] = "",
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Find the pose of a camera on the hand or beside the robot.

    From images of a board and the poses of the hand.

    Example: `manipapy calibrate hand-eye views --setup hand --robot ur5e --corners 8x5 --square 0.03`
    """
    from ..calibration import calibrate_hand_eye
    from ..calibration.files import load_camera, read_views, save_hand_eye

    described, where = board_of(kind, corners, square, marker, dictionary), setup_of(setup)
    arm = None if robot is None else _arm(robot, base, tip, package_path, xacro_arg)[1]
    with progress(f"reading {folder}") as display:
        views, one = read_views(folder, arm), load_camera(camera_file or folder / "camera.yaml")
        display.update(0, len(views), "looking for the board")
        found = calibrate_hand_eye(views, described, one, where, progress=display.update)
    on_hand = setup == "hand"
    link = parent or (tip if on_hand else base) or ("" if arm is None else arm.tip if on_hand else arm.base)
    if not link:
        raise InputError("the link that the camera is fixed to is not known; give --parent, or --robot")
    path = output or folder / "camera_pose.yaml"
    pose = save_hand_eye(found, path, link, child)
    data = {"file": str(path), "parent": link, "T_parent_camera": found.T_parent_camera, "residual": found.residual,
            "translation_sigma": found.translation_sigma, "rotation_sigma": found.rotation_sigma,
            "methods": dict(found.methods), "views": dict(found.view_residuals),
            "static_transform": pose.static_transform(), "warnings": found.warnings}  # fmt: skip
    _say(as_json, data, f"{found.describe()}\n{path}: `manipapy up --perception --camera-pose {path}` uses it, as does"
         f"\n{pose.static_transform()}")  # fmt: skip


@calibrate.command()
def poses(
    output: Annotated[Path, typer.Argument(help="YAML file to write.")],
    camera_guess: Annotated[str, typer.Option(help="Rough pose of the camera: x y z roll pitch yaw [m, rad].")],
    board_guess: Annotated[str, typer.Option(help="Rough pose of the board's first corner, z into the board.")],
    camera_file: Annotated[Path, typer.Option("--camera", help="Calibration of the camera.")],
    robot: Annotated[str, typer.Option(help="A bundled name, a description file or a robot folder.")] = "ur5",
    setup: SetupName = "hand",
    kind: BoardName = "charuco",
    corners: Corners = "8x5",
    square: Square = 0.03,
    count: Annotated[int, typer.Option(help="Poses to visit.")] = 15,
    seed: int = 0,
    base: BaseLink = None,
    tip: TipLink = None,
    package_path: PackagePath = None,
    xacro_arg: XacroArg = None,
    as_json: Json = False,
) -> None:
    """Choose poses of the arm for a hand-eye calibration.

    They are free of collision, see the board and tell most.

    The guesses are in the hand and in the base (camera on the hand), or in the base and in the hand (beside).

    Example: `manipapy calibrate poses visits.yaml --robot ur5e --camera camera.yaml --camera-guess "0 0.08 0.05 0 0 0"
    --board-guess "0.45 0 0.02 3.14 0 0"`
    """
    import numpy as np

    from ..calibration import plan_visits
    from ..calibration.files import load_camera, write_visits
    from ..geometry import Checker, RobotBody
    from ..model.arms import gravity_in_base
    from ..motion.home import find_home, floor_world
    from ..perception import CameraPose

    model, arm = _arm(robot, base, tip, package_path, xacro_arg)
    guesses = [CameraPose.parse(f"guess {text}").T_parent_camera for text in (camera_guess, board_guess)]
    described, where, one = board_of(kind, corners, square, 0.0, "4X4_250"), setup_of(setup), load_camera(camera_file)
    with progress(f"building the collision body of {model.name}") as display:
        body = RobotBody.build(model, arm)
        checker = Checker(body, floor_world(body, model))
        home = find_home(checker, gravity_in_base(model, arm))
        display.update(0, 0, "looking for poses that see the board")
        found = plan_visits(
            checker, home, described, one, where, T_parent_camera=guesses[0], T_other_board=guesses[1], count=count,
            seed=seed, progress=display.update,
        )  # fmt: skip
    write_visits(output, arm.joint_names, [visit.q for visit in found.visits])
    duration = sum(visit.motion.trajectory.duration for visit in found.visits if visit.motion.trajectory is not None)
    sigma = 1e3 * found.translation_sigma, float(np.degrees(found.rotation_sigma))
    data = {"file": str(output), "poses": [visit.q for visit in found.visits], "duration": duration,
            "translation_sigma": found.translation_sigma, "rotation_sigma": found.rotation_sigma}  # fmt: skip
    _say(as_json, data, f"{output}: {len(found.visits)} poses, {duration:.0f} s of motion; corners exact to 0.1 pixels "
         f"would give {sigma[0]:.2f} mm and {sigma[1]:.3f} degrees")  # fmt: skip


def setup_of(name: str) -> Any:
    """The set-up of an option."""
    from ..calibration import Setup

    known = [entry.value for entry in Setup]
    if name not in known:
        raise InputError(f"--setup is {name!r}; choose {' or '.join(known)}")
    return Setup(name)


def _arm(
    robot: str, base: str | None, tip: str | None, package_path: list[str] | None, xacro_arg: list[str] | None
) -> tuple[Robot, Chain]:
    from ..model import Robot, arm_chain

    source = Robot.from_urdf(robot, package_paths=package_path or (), xacro_args=xacro_arguments(xacro_arg))
    model = source.completed()
    return model, arm_chain(model, base or "", tip or "")


def _say(as_json: bool, data: dict[str, Any], text: str) -> None:
    if as_json:
        print_json(data)
    else:
        print(text)
