"""Colours and attributes of log text: SGR sequences to styles, styles to CSS class names."""

from functools import lru_cache
from typing import NamedTuple

NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_FLAG_ON = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse", 9: "strike"}
_FLAG_OFF = {22: ("bold", "dim"), 23: ("italic",), 24: ("underline",), 27: ("inverse",), 29: ("strike",)}
_LEVELS = (0, 95, 135, 175, 215, 255)  # of the 6x6x6 colour cube


class Style(NamedTuple):
    """How a cell looks. `fg`, `bg`: a name (`red`, `bright_red`), `idx:16` to `idx:255`, `#rrggbb`, or "" for the default."""

    fg: str = ""
    bg: str = ""
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    inverse: bool = False
    strike: bool = False
    link: str = ""

    def as_dict(self) -> dict[str, str | bool]:
        """Return only what differs from plain text."""
        return {key: value for key, value in self._asdict().items() if value}

    def classes(self) -> str:
        """Return the CSS classes, "" for plain text; a 24-bit colour becomes the nearest of the 256 colours, because CSP forbids inline styles."""
        parts = [f"{side}-{_colour_class(colour)}" for side, colour in (("fg", self.fg), ("bg", self.bg)) if colour]
        parts += [flag for flag in _FLAG_ON.values() if getattr(self, flag)]
        return " ".join(parts)


PLAIN = Style()


def named(index: int) -> str:
    """Return the name of a colour of the 256-colour palette: 0 to 15 are the named colours."""
    if index < 8:
        return NAMES[index]
    return f"bright_{NAMES[index - 8]}" if index < 16 else f"idx:{index}"


def palette_rgb(index: int) -> tuple[int, int, int]:
    """Return red, green, blue of colour 16 to 255 of the 256-colour palette (colour cube, then greys)."""
    if index >= 232:
        grey = 8 + (index - 232) * 10
        return grey, grey, grey
    cube = index - 16
    return _LEVELS[cube // 36], _LEVELS[cube // 6 % 6], _LEVELS[cube % 6]


def _colour_class(colour: str) -> str:
    if colour.startswith("#"):
        colour = f"idx:{_nearest(int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16))}"
    return colour.replace("idx:", "idx-").replace("_", "-")


def _nearest(red: int, green: int, blue: int) -> int:
    def distance(index: int) -> int:
        r, g, b = palette_rgb(index)
        return (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2

    cube = 16
    for weight, value in ((36, red), (6, green), (1, blue)):
        cube += weight * min(range(6), key=lambda level: abs(_LEVELS[level] - value))
    grey = 232 + max(0, min(23, ((red + green + blue) // 3 - 3) // 10))
    return min(cube, grey, key=distance)


@lru_cache(maxsize=4096)
def apply_sgr(style: Style, parameters: str) -> Style:
    """Return the style after `ESC [ parameters m`; unknown numbers are ignored, an empty parameter is 0."""
    parts = parameters.split(";")
    at = 0
    while at < len(parts):
        part = parts[at]
        at += 1
        if ":" in part:
            style = _apply_colon(style, [_number(sub) for sub in part.split(":")])
            continue
        code = _number(part)
        if code in (38, 48):
            colour, used = _extended([_number(p) for p in parts[at : at + 4]])
            at += used
            if colour:
                style = _coloured(style, code, colour)
        else:
            style = _apply_code(style, code)
    return style


def _number(text: str) -> int:
    """The value of a parameter; -1 for one that no code has (a number of thousands of digits would cost time)."""
    if not text:
        return 0
    return int(text) if len(text) <= 5 and text.isascii() and text.isdigit() else -1


def _apply_code(style: Style, code: int) -> Style:
    if code == 0:
        return Style(link=style.link)
    if code in _FLAG_ON:
        return Style(**style._asdict() | {_FLAG_ON[code]: True})
    if code in _FLAG_OFF:
        return Style(**style._asdict() | dict.fromkeys(_FLAG_OFF[code], False))
    if 30 <= code <= 37 or 90 <= code <= 97:
        return style._replace(fg=named(code - 30 if code < 90 else code - 82))
    if 40 <= code <= 47 or 100 <= code <= 107:
        return style._replace(bg=named(code - 40 if code < 100 else code - 92))
    if code == 39:
        return style._replace(fg="")
    if code == 49:
        return style._replace(bg="")
    return style


def _extended(numbers: list[int]) -> tuple[str, int]:
    """The colour of what follows 38 or 48 ("" if it is none), and how many parameters it used."""
    if numbers[:1] == [5]:
        good = len(numbers) > 1 and 0 <= numbers[1] <= 255
        return (named(numbers[1]) if good else ""), min(2, len(numbers))
    if numbers[:1] == [2]:
        rgb = numbers[1:4]
        good = len(rgb) == 3 and all(0 <= value <= 255 for value in rgb)
        return ("#{:02x}{:02x}{:02x}".format(*rgb) if good else ""), min(4, len(numbers))
    return "", 0


def _coloured(style: Style, code: int, colour: str) -> Style:
    return style._replace(fg=colour) if code == 38 else style._replace(bg=colour)


def _apply_colon(style: Style, numbers: list[int]) -> Style:
    """ITU T.416 form: `38:5:n`, `38:2:r:g:b`, `38:2:space:r:g:b`, and `4:n` for kinds of underline."""
    code = numbers[0]
    if code == 4:
        return style._replace(underline=numbers[1] != 0)
    if code in (38, 48):
        rest = numbers[1:]
        if rest[:1] == [2] and len(rest) >= 5:
            rest = [2, *rest[2:5]]
        colour, _ = _extended(rest)
        return _coloured(style, code, colour) if colour else style
    return style
