"""Finding a module and looking at what it says of itself."""

import importlib
import importlib.util
import inspect
import os
import sys

from mlafuzz._errors import LoadError, in_one_line

# Kernels in the order of wire.h, with the arguments of each, which are passed
# by name. Shapes and dtypes: kernels/target.h.
ARGUMENTS = {
    "write": ("kv_c", "k_pe", "slot_mapping", "cache"),
    "gather": (
        "cache",
        "dst",
        "block_table",
        "workspace_starts",
        "seq_lens",
        "seq_starts",
        "nope",
    ),
    "convert": (
        "request_ids",
        "block_table",
        "token_indices",
        "out",
        "valid_count",
        "page_size",
    ),
    "decode": (
        "q",
        "cache",
        "indices",
        "lengths",
        "sinks",
        "out",
        "lse",
        "softmax_scale",
        "splits",
        "declared_topk",
        "query_length",
    ),
}


class Loaded:
    """A target that can be called."""

    def __init__(self, functions, description, tensors):
        self.functions = functions  # one for each of ARGUMENTS, or None
        self.description = description
        self.tensors = tensors


def load(module_name, name, folder):
    """The target, or LoadError."""
    module = _import(module_name, folder)
    holder = module
    where = module_name
    for part in name.split(".") if name else []:
        if not hasattr(holder, part):
            raise LoadError(f"{where} has no {part}")
        holder = getattr(holder, part)
        where += f".{part}"
    if inspect.isclass(holder):
        holder = _made(holder, where)
    functions = [_function(holder, kernel, where) for kernel in ARGUMENTS]
    if not any(functions):
        raise LoadError(
            f"{where} has none of {', '.join(ARGUMENTS)}; "
            + _objects_with_kernels(module, module_name)
        )
    description = getattr(holder, "description", "")
    if not isinstance(description, str):
        raise LoadError(
            f"{where}.description is {_article(description)}, not text"
        )
    return Loaded(
        functions,
        description + _source(module),
        getattr(holder, "tensors", "numpy"),
    )


def _import(name, folder):
    if folder:
        sys.path.insert(1, folder)
    try:
        if not name.endswith(".py"):
            return importlib.import_module(name)
        # By its path, with its neighbours at hand, as `python PATH` has them.
        sys.path.insert(1, os.path.dirname(name))
        stem = os.path.basename(name)[: -len(".py")]
        spec = importlib.util.spec_from_file_location(stem, name)
        module = importlib.util.module_from_spec(spec)
        sys.modules.setdefault(stem, module)
        spec.loader.exec_module(module)
        return module
    except ImportError as error:
        if error.__cause__ is not None:  # the module's own words for it
            why = f"importing {name}: {error}"
        elif isinstance(error, ModuleNotFoundError):
            why = _not_found(error, name, folder)
        else:
            why = f"importing {name}: {in_one_line(error)}"
        raise LoadError(why) from error
    except Exception as error:  # whatever a module does when it is imported
        raise LoadError(f"importing {name}: {in_one_line(error)}") from error


def _not_found(error, name, folder):
    python = f"{sys.executable} (Python {sys.version.split()[0]})"
    if name == error.name or name.startswith(f"{error.name}."):
        return (
            f"{python} finds no module {error.name}, neither in "
            f"{folder or 'its folders'} nor installed; a file is named by its "
            "path, python:FOLDER/FILE.py"
        )
    return (
        f"importing {name}: it needs {error.name}, which is not installed for "
        f"{python}; install it there, or name another interpreter or venv with "
        "--python"
    )


def _made(cls, where):
    try:
        return cls()
    except Exception as error:
        raise LoadError(f"making a {where}: {in_one_line(error)}") from error


def _function(holder, kernel, where):
    function = getattr(holder, kernel, None)
    if function is None:
        return None
    if not callable(function):
        raise LoadError(f"{where}.{kernel} is {_article(function)}, no function")
    names = ARGUMENTS[kernel]
    try:
        inspect.signature(function).bind(**dict.fromkeys(names))
    except TypeError as error:
        raise LoadError(
            f"{where}.{kernel}{inspect.signature(function)} cannot be called: "
            f"{error}; its arguments are passed by name: {', '.join(names)}"
        ) from error
    except ValueError:  # it has no signature: written in C
        pass
    return function


def _objects_with_kernels(module, module_name):
    names = [
        key
        for key, value in vars(module).items()
        if not key.startswith("_")
        and not inspect.ismodule(value)
        and any(callable(getattr(value, kernel, None)) for kernel in ARGUMENTS)
    ]
    if not names:
        return "define one of them (docs/attach-python.md)"
    return "name the object that has them: " + ", ".join(
        f"python:{module_name}:{key}" for key in names
    )


def _source(module):
    path = getattr(module, "__file__", None)
    if path is None:
        return ""
    escaped = os.path.abspath(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'\nsource: "{escaped}"'


def _article(value):
    kind = type(value).__name__
    return ("an " if kind[0] in "aeiou" else "a ") + kind
