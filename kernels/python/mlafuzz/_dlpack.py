"""DLPack tensors over memory at an address, for any framework that takes them."""

import ctypes

HOST = (1, 0)  # kDLCPU


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    _fields_ = [
        ("tensor", _Tensor),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


# By address, until the framework lets go of them.
_living = {}


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _delete(managed):
    _living.pop(managed, None)


_deleter = ctypes.cast(_delete, ctypes.c_void_p).value
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_shapes = {n: ctypes.c_int64 * n for n in range(1, 4)}


def capsule(address, device, code, bits, shape, strides):
    """Strides in elements. To be consumed: one that is not stays for good."""
    ndim = len(shape)
    extents = _shapes[ndim](*shape)
    steps = _shapes[ndim](*strides)
    managed = _Managed(
        _Tensor(
            address,
            *device,
            ndim,
            code,
            bits,
            1,
            ctypes.addressof(extents),
            ctypes.addressof(steps),
            0,
        ),
        None,
        _deleter,
    )
    at = ctypes.addressof(managed)
    _living[at] = (managed, extents, steps)
    return _new_capsule(at, b"dltensor", None)


class Exported:
    """For frameworks that ask for an object with the protocol's methods."""

    def __init__(self, address, device, code, bits, shape, strides):
        self._arguments = (address, device, code, bits, shape, strides)

    def __dlpack_device__(self):
        return self._arguments[1]

    def __dlpack__(self, **_):
        return capsule(*self._arguments)
