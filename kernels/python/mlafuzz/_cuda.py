"""Calls on a GPU: the buffers of a call lie in one piece of device memory, with
bytes between them that are compared afterwards.

The module gets this memory itself, by DLPack, so a call costs one copy to the
device and one back. Unlike kernels/device/device_memory.h nothing around the
buffers is unmapped: what is written more than a redzone away is not seen.
"""

import numpy

from mlafuzz._cuda_driver import CudaError, Driver
from mlafuzz._results import OUTPUTS

_REDZONE = 4096  # bytes on each side of a buffer
_ALIGNMENT = 256
_CUDA = 2  # kDLCUDA


class CudaMemory:
    """Memory of memory_for()."""

    outputs = OUTPUTS
    results_only = False

    def __init__(self, device, framework):
        self._driver = Driver(device)
        self._device = (_CUDA, device)
        self._view_at = framework.view_at
        self._settled = framework.settled
        self.store = framework.store
        self.device = self._driver.name
        self.how = framework.how
        self._address = 0
        self._grow(1 << 20)

    def _grow(self, size):
        if self._address:
            self._driver.free(self._address)
            self._address = 0
        self._address = self._driver.allocate(size)
        at = numpy.arange(size, dtype=numpy.uint32)
        self._pattern = (0xC3 ^ (at * 29)).astype(numpy.uint8)
        self._image = self._pattern.copy()
        self._seen = numpy.empty(size, numpy.uint8)

    def place(self, arena, schedule, tensors, names, arguments):
        self._starts = []
        at = 0
        for tensor in tensors:
            begin, size = tensor[11], tensor[12]
            # As unaligned as in the arena.
            at = at + _REDZONE + _ALIGNMENT - 1 & -_ALIGNMENT
            at += begin % _ALIGNMENT
            self._starts.append(at)
            at += size + _REDZONE
        if at > len(self._pattern):
            try:
                self._grow(2 * at)
            except CudaError as error:
                self._grow(1 << 20)
                return f"{at} bytes of device memory: {error}"
        self._size = at
        image = self._image
        image[:at] = self._pattern[:at]
        for tensor, start in zip(tensors, self._starts):
            begin, size = tensor[11], tensor[12]
            image[start : start + size] = arena.bytes[begin : begin + size]
        self._driver.to_device(self._address, image.ctypes.data, at)
        for tensor, start in zip(tensors, self._starts):
            name = names.get(tensor[0])
            if name is not None:
                ndim = tensor[3]
                arguments[name] = self._view_at(
                    self._address + start + tensor[4] - tensor[11],
                    self._device,
                    tensor[1],
                    tensor[2],
                    tensor[5 : 5 + ndim],
                    tensor[8 : 8 + ndim],
                )
        return ""

    def settle(self, arena, tensors, last):
        self._settled()
        seen = self._seen
        try:
            self._driver.synchronize()
            self._driver.to_host(seen.ctypes.data, self._address, self._size)
        except CudaError as error:
            return (), str(error)
        strays = []
        for tensor, start in zip(tensors, self._starts):
            begin, size = tensor[11], tensor[12]
            arena.bytes[begin : begin + size] = seen[start : start + size]
            wrong = [
                where + numpy.flatnonzero(seen[where:end] != self._image[where:end])
                for where, end in (
                    (start - _REDZONE, start),
                    (start + size, start + size + _REDZONE),
                )
            ]
            wrong = numpy.concatenate(wrong) - start
            if len(wrong):
                stray = (tensor[0], 0, int(wrong[0]), int(wrong[-1]), len(wrong))
                strays.append(stray)
        return strays, ""
