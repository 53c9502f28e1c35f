"""What went wrong in a module, in one line."""

import importlib
import traceback

# Of a traceback, the innermost lines of the module's own.
_FRAMES = 3
_MOST = 1500  # characters of its text
_LONGEST_LINE = 200


class LoadError(Exception):
    """The target cannot be attached; the text says why and what to do."""


class BadResult(Exception):
    """A function returned what is no result; the text names it."""


def in_one_line(error):
    """The exception, and where it came from, innermost line first."""
    text = "".join(traceback.format_exception_only(error)).strip()
    if isinstance(error, SyntaxError):  # it names its own place
        return _shortened(f"{type(error).__name__}: {error}")
    text = _shortened(" | ".join(line.strip() for line in text.splitlines()))
    own = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((_HERE, _IMPORTLIB, "<frozen"))
    ]
    places = [
        f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno} in {frame.name}: "
        f"{frame.line}"
        for frame in reversed(own[-_FRAMES:])
    ]
    for n, place in enumerate(places):
        text += f"; {'called ' if n else ''}at {place}"[:_LONGEST_LINE]
    return text


def _shortened(text):
    return text if len(text) <= _MOST else text[:_MOST] + "..."


_HERE = __file__.rsplit("/", 1)[0] + "/"
_IMPORTLIB = importlib.__file__.rsplit("/", 1)[0] + "/"
