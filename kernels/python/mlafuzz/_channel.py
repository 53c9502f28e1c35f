"""A runner's side of the socket: kernels/foreign/wire.h and runner_channel.h.

Nothing here fails: when the harness is gone nobody is left to tell, and the
process ends.
"""

import ctypes
import errno
import faulthandler
import mmap
import os
import struct
import sys

_MAGIC = 0x5A464C4D  # "MLFZ"
_VERSION = 2
_SOCKET_FD = 3
_CONTROL_FD = 5
_EXIT_DESCRIPTORS_CLOSED = 98

HELLO, LOAD_FAILED, RUN, DONE, DEVICE_FAULT = 1, 2, 3, 4, 5

_FRAME = struct.Struct("<IHHQ")
_HELLO = struct.Struct("<6I")
_DEVICE_FAULT = struct.Struct("<II")

_PR_SET_PDEATHSIG = 1
_SIGKILL = 9

# The words of wire::Control: calls begun, ..., nanoseconds in the target.
STARTED, ARENA, BUSY = 0, 3, 4
control = None


def enter():
    """First thing: false if this process was not started by a harness."""
    global control
    # No orphans: dies with the harness.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _SIGKILL)
    try:
        page = mmap.mmap(_CONTROL_FD, 40)
    except (OSError, ValueError):
        return False
    control = memoryview(page).cast("Q")
    # Unbuffered output would be slow, lost output worse.
    sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")
    # What crashes leaves the lines that it came from.
    faulthandler.enable()
    return True


def leave():
    os._exit(0)


def _closed(error):
    os._exit(_EXIT_DESCRIPTORS_CLOSED if error.errno == errno.EBADF else 0)


def _read_all(size):
    parts = []
    while size:
        try:
            part = os.read(_SOCKET_FD, size)
        except OSError as error:
            _closed(error)
        if not part:
            leave()
        parts.append(part)
        size -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def receive_run():
    """The payload of the next batch."""
    magic, version, kind, length = _FRAME.unpack(_read_all(_FRAME.size))
    if magic != _MAGIC or version != _VERSION or kind != RUN:
        leave()
    return _read_all(length)


def send(kind, payload):
    data = memoryview(_FRAME.pack(_MAGIC, _VERSION, kind, len(payload)) + payload)
    while data:
        try:
            data = data[os.write(_SOCKET_FD, data) :]
        except OSError as error:
            _closed(error)


def say_hello(implements, description, device):
    text = description.encode()
    where = device.encode()
    hello = _HELLO.pack(1, implements, len(text), len(where), os.getpid(), 0)
    send(HELLO, hello + text + where)


def say_load_failed(why):
    """Instead of a Hello."""
    send(LOAD_FAILED, why.encode(errors="backslashreplace"))


def die_of(call, what):
    """The device has failed in this call of the batch; does not return."""
    sys.stdout.flush()
    send(DEVICE_FAULT, _DEVICE_FAULT.pack(call, 0) + what.encode())
    leave()
