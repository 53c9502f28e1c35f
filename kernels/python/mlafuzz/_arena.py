"""The harness' shared memory, mapped as runner_loop.cc maps it: in the midst of
inaccessible address space, so that strides gone wrong end in a fault."""

import ctypes
import os

import numpy

from mlafuzz import _channel

_ARENA_FD = 4
_PROT_NONE, _PROT_READ_WRITE = 0, 3
_MAP_SHARED, _MAP_PRIVATE, _MAP_FIXED = 0x01, 0x02, 0x10
_MAP_ANONYMOUS, _MAP_NORESERVE = 0x20, 0x4000
_FAILED = ctypes.c_void_p(-1).value

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class Arena:
    """`bytes`: all of it, as one array; below `low` it cannot be touched."""

    def __init__(self):
        self.base = 0
        self.bytes = None
        self._low = 0

    def map(self, capacity, side, low):
        if not self.base:
            self._map_all(capacity, side)
        if low < self._low:
            _libc.mprotect(self.base + low, self._low - low, _PROT_READ_WRITE)
        elif low > self._low:
            _libc.mprotect(self.base + self._low, low - self._low, _PROT_NONE)
        self._low = low

    def _map_all(self, capacity, side):
        flags = _MAP_PRIVATE | _MAP_ANONYMOUS | _MAP_NORESERVE
        whole = _libc.mmap(None, capacity + 2 * side, _PROT_NONE, flags, -1, 0)
        if whole in (None, _FAILED):
            _channel.leave()
        self.base = whole + side
        mapped = _libc.mmap(
            self.base, capacity, _PROT_NONE, _MAP_SHARED | _MAP_FIXED, _ARENA_FD, 0
        )
        if mapped in (None, _FAILED):
            os._exit(98)  # the descriptor is closed: kExitDescriptorsClosed
        self._low = capacity
        _channel.control[_channel.ARENA] = self.base
        memory = (ctypes.c_uint8 * capacity).from_address(self.base)
        self.bytes = numpy.frombuffer(memory, dtype=numpy.uint8)
