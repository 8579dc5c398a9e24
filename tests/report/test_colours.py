"""Colours that tell lines apart do so for eyes without red or green cones too, light and dark."""

import importlib.resources
import itertools
import re

import numpy as np

from keyhole import plots
from keyhole.problem import Floats

FIVE_JUST_NOTICEABLE = 5 * 2.3  # CIE76: 2.3 is the least difference that is noticed

# Linear RGB as seen without one kind of cone (Viénot, Brettel, Mollon 1999).
EYES = {
    "usual": np.eye(3),
    "without red": np.array([[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.004, -0.004, 1]]),
    "without green": np.array([[0.293, 0.707, 0], [0.293, 0.707, 0], [-0.02234, 0.02234, 1]]),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(colour: str, eye: Floats) -> Floats:
    """A hex colour in CIELAB, as an eye sees it."""
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(eye @ linear, 0, 1) / [0.9505, 1.0, 1.089]
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def closest(colours: list[str], eye: str) -> float:
    """The least difference of two of the colours."""
    seen = [lab(colour, EYES[eye]) for colour in colours]
    return min(float(np.linalg.norm(a - b)) for a, b in itertools.combinations(seen, 2))


def palettes() -> list[list[str]]:
    """Of the figures, of the light page, of the dark page; each with the paper."""
    style = importlib.resources.files("keyhole.report").joinpath("page.css").read_text("utf-8")
    names = ("paper", "blue", "green", "purple", "orange")
    found = [re.findall(rf"--{name}: (#\w+);", style) for name in names]
    assert [len(colours) for colours in found] == [2] * len(names)
    light, dark = zip(*found, strict=True)
    figures = ["#ffffff", plots.BLUE, plots.GREEN, plots.PURPLE, plots.ORANGE]
    return [figures, list(light), list(dark)]


def test_colours_are_told_apart_by_every_eye() -> None:
    for palette in palettes():
        for eye in EYES:
            assert closest(palette, eye) > FIVE_JUST_NOTICEABLE, (palette, eye)


def test_red_and_green_would_not_do() -> None:
    """The twin: a usual eye tells these apart easily, one without green cones does not."""
    red_and_green = ["#d0523c", "#848c1f"]
    assert closest(red_and_green, "usual") > 5 * FIVE_JUST_NOTICEABLE
    assert closest(red_and_green, "without green") < FIVE_JUST_NOTICEABLE


def test_text_is_legible_on_its_paper() -> None:
    """WCAG AA: a contrast of 4.5 for text, of 3 for lines."""
    style = importlib.resources.files("keyhole.report").joinpath("page.css").read_text("utf-8")

    def luminance(colour: str) -> float:
        rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return float(np.array([0.2126, 0.7152, 0.0722]) @ linear)

    for mode in (0, 1):
        colour = dict(re.findall(r"--(\w+): (#\w{6});", style)[mode * 9 : mode * 9 + 9])
        for ground in ("paper", "card"):
            for name, least in (
                ("ink", 4.5),
                ("soft", 4.5),
                ("blue", 3),
                ("green", 3),
                ("purple", 3),
                ("orange", 3),
            ):
                one, other = sorted((luminance(colour[name]), luminance(colour[ground])))
                assert (other + 0.05) / (one + 0.05) > least, (mode, name, ground)
