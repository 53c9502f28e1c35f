"""Kernels of known packages as targets: python:mlafuzz.adapters.NAME[:OBJECT].

Each declares the contract that its kernel was read to have; the source is named
beside it. None of them was run against the real package yet: they were against
modules with the same signatures (kernels/python/testing/standins).
"""

import importlib

import mlafuzz

try:
    import torch
except ImportError:
    torch = None  # needed() says what it is needed for

NOT_RUN = "this adapter was not run against the real package yet"


def needed(module, function, what):
    """The function, and its package's version in words. `what`: which release
    or source has it, for the error where it is missing."""
    package = module.split(".")[0]
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{package} cannot be imported ({error}); needed is {what}"
        ) from error
    version = getattr(importlib.import_module(package), "__version__", "unknown")
    if not hasattr(found, function):
        raise ImportError(
            f"{package} {version} has no {module}.{function}; needed is {what}"
        )
    return getattr(found, function), f"{package} {version}; {NOT_RUN}"


def refusing(function, **arguments):
    """The call; what the function's own checks throw is a refusal, what CUDA
    says is none."""
    try:
        return function(**arguments)
    except (AssertionError, RuntimeError, TypeError, ValueError) as error:
        if "CUDA" in str(error):
            raise
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise mlafuzz.Refused(lines[0]) from error
