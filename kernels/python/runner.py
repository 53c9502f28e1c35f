"""The process in which the kernels of a Python module run.

Speaks kernels/foreign/wire.h as the runners in C++ do, and needs no build: the
standard library and numpy, with Python 3.11 or later.

    runner.py MODULE NAME FOLDER DEVICE

MODULE: a dotted name, or the path of a .py file. NAME: the object in it that
has the kernels; empty: the module itself. FOLDER: where the caller is; modules
are looked for there too. DEVICE: the number of a GPU, or "host".
"""

import sys

if sys.version_info < (3, 11):  # before anything that older ones cannot parse
    sys.stderr.write(
        "Python 3.11 or later is needed, this is %d.%d\n" % sys.version_info[:2]
    )
    sys.exit(2)

import os

# Every job has a runner of its own: more threads would only get in their way.
# Before numpy or torch is imported; what the caller has set stays.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from mlafuzz import _channel


def main(arguments):
    if len(arguments) != 4 or not _channel.enter():
        sys.stderr.write(__doc__)
        return 2
    module, name, folder, device = arguments
    try:
        from mlafuzz import _load, _loop
        from mlafuzz._errors import LoadError
    except ModuleNotFoundError as error:
        _channel.say_load_failed(
            f"{error.name} is not installed for {sys.executable} (Python "
            f"{sys.version.split()[0]}); install it there, or name another "
            "interpreter or venv with --python"
        )
        return 0
    try:
        target = _load.load(module, name, folder)
        memory = _loop.memory_for(target, device)
    except LoadError as error:
        _channel.say_load_failed(str(error))
        return 0
    _loop.serve(target, memory)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
