"""The arrays that a module asks for, over memory that is the harness'.

Each has view(), an array over an address, store(), which copies a result into
such an array after its dtype, shape and device were looked at, and says in
words how its arrays come about.
"""

import importlib

import numpy

from mlafuzz import _dlpack
from mlafuzz._errors import LoadError
from mlafuzz._results import check, check_kind

_BFLOAT = 4  # kDLBfloat
_DTYPES = {
    (0, 32): numpy.dtype(numpy.int32),
    (0, 64): numpy.dtype(numpy.int64),
    (1, 8): numpy.dtype(numpy.uint8),
    (2, 16): numpy.dtype(numpy.float16),
    (2, 32): numpy.dtype(numpy.float32),
}


def on_host(tensors):
    if tensors == "numpy":
        return NumpyArrays(numpy.dtype(numpy.uint16))
    if tensors == "ml_dtypes":
        ml_dtypes = _needed("ml_dtypes", tensors)
        return NumpyArrays(numpy.dtype(ml_dtypes.bfloat16))
    if tensors == "torch":
        return TorchTensors(_needed("torch", tensors), "cpu")
    if tensors == "jax":
        return JaxArrays(_jax("cpu", 0), "")
    if tensors == "cupy":
        raise LoadError(
            'tensors is "cupy", whose arrays are on a GPU; add --backend=cuda'
        )
    raise LoadError(
        f"tensors is {tensors!r}; known: numpy, ml_dtypes, torch, cupy, jax"
    )


def on_gpu(tensors, device):
    module = _needed(tensors, tensors)
    if tensors == "torch":
        if not module.cuda.is_available():
            raise LoadError(
                f"torch {module.__version__} was built without CUDA or sees no GPU"
            )
        module.cuda.set_device(device)
        return TorchTensors(module, f"cuda:{device}")
    module.cuda.Device(device).use()
    return CupyArrays(module)


def jax_on_gpu(device):
    jax = _jax("gpu", device)
    return JaxArrays(jax, jax.devices("gpu")[device].device_kind)


def _needed(package, tensors):
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise LoadError(
            f"tensors is {tensors!r}, and {package} cannot be imported: {error}; "
            "install it, or name another interpreter or venv with --python"
        ) from error


class _Arrays:
    # Whether its arrays cannot be written, so that results are returned.
    results_only = False
    device = ""  # that they are on, in words; empty: the processors

    def settled(self):
        """The call is over."""


class NumpyArrays(_Arrays):
    def __init__(self, bfloat16):
        self._dtypes = {**_DTYPES, (_BFLOAT, 16): bfloat16}
        self._bfloat16 = bfloat16
        self.how = f"numpy over shared memory, bfloat16 as {bfloat16.name}"

    def view(self, arena, offset, code, bits, shape, strides):
        dtype = self._dtypes[code, bits]
        size = bits >> 3
        return numpy.ndarray(
            shape, dtype, arena.bytes, offset, [size * s for s in strides]
        )

    def store(self, view, result, name):
        check_kind(name, result, numpy.ndarray, "a numpy array")
        if result.dtype.name == "bfloat16" and view.dtype == numpy.uint16:
            result = result.view(numpy.uint16)
        check(name, "dtype", result.dtype.name, view.dtype.name)
        check(name, "shape", result.shape, view.shape)
        numpy.copyto(view, result)


class TorchTensors(_Arrays):
    def __init__(self, torch, device):
        self._torch = torch
        self._from_dlpack = torch.utils.dlpack.from_dlpack
        self.how = (
            f"torch {torch.__version__} on {device}, over the harness' memory "
            "(DLPack, no copy)"
        )

    def view(self, arena, offset, code, bits, shape, strides):
        return self.view_at(
            arena.base + offset, _dlpack.HOST, code, bits, shape, strides
        )

    def view_at(self, address, device, code, bits, shape, strides):
        return self._from_dlpack(
            _dlpack.capsule(address, device, code, bits, shape, strides)
        )

    def store(self, view, result, name):
        check_kind(name, result, self._torch.Tensor, "a torch.Tensor")
        check(name, "dtype", result.dtype, view.dtype)
        check(name, "shape", tuple(result.shape), tuple(view.shape))
        check(name, "device", result.device, view.device)
        view.copy_(result.detach())


class CupyArrays(_Arrays):
    def __init__(self, cupy):
        self._cupy = cupy
        self.how = (
            f"cupy {cupy.__version__}, bfloat16 as uint16, over the harness' "
            "memory (DLPack, no copy)"
        )

    def view_at(self, address, device, code, bits, shape, strides):
        if code == _BFLOAT:
            code = 1  # kDLUInt
        return self._cupy.from_dlpack(
            _dlpack.Exported(address, device, code, bits, shape, strides)
        )

    def store(self, view, result, name):
        check_kind(name, result, self._cupy.ndarray, "a cupy array")
        check(name, "dtype", result.dtype.name, view.dtype.name)
        check(name, "shape", result.shape, view.shape)
        check(name, "device", result.device.id, view.device.id)
        self._cupy.copyto(view, result)


def _jax(platform, device):
    jax = _needed("jax", "jax")
    # Slots are int64, which JAX would cut short.
    jax.config.update("jax_enable_x64", True)
    try:
        jax.config.update("jax_default_device", jax.devices(platform)[device])
    except (RuntimeError, IndexError) as error:
        raise LoadError(f"JAX has no {platform} {device}: {error}") from error
    return jax


class JaxArrays(_Arrays):
    """Copies: JAX takes no strided memory, and its arrays do not change."""

    results_only = True

    def __init__(self, jax, device):
        self._jax = jax
        self._host = NumpyArrays(numpy.dtype(_needed("ml_dtypes", "jax").bfloat16))
        self._views = {}
        self.device = device
        self.how = (
            f"JAX {jax.__version__} on {device or 'cpu'}, copied through the host"
        )

    def view(self, arena, offset, code, bits, shape, strides):
        host = self._host.view(arena, offset, code, bits, shape, strides)
        array = self._jax.numpy.array(host, copy=True)
        self._views[id(array)] = (array, host)
        return array

    def settled(self):
        self._views.clear()

    def store(self, view, result, name):
        check_kind(name, result, self._jax.Array, "a jax.Array")
        self._host.store(self._views[id(view)][1], numpy.asarray(result), name)
