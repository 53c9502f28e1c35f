"""The few calls of the CUDA driver that a runner makes, through ctypes: no
package of Python is needed for them, and any may be in the module."""

import ctypes

from mlafuzz._errors import LoadError

# As the runners in C++ name them; others by the driver's own name.
_RUNTIME_NAMES = {
    700: "cudaErrorIllegalAddress",
    710: "cudaErrorAssert",
    714: "cudaErrorHardwareStackError",
    715: "cudaErrorIllegalInstruction",
    716: "cudaErrorMisalignedAddress",
    717: "cudaErrorInvalidAddressSpace",
    718: "cudaErrorInvalidPc",
    719: "cudaErrorLaunchFailure",
}
_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*


class CudaError(Exception):
    """A call of the driver failed; the text is what it says."""


class Driver:
    """One device, by its primary context, which frameworks use too."""

    def __init__(self, device):
        try:
            self._cuda = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise LoadError(f"no GPU to run on: {error}") from error
        try:
            self._call("cuInit", 0)
            number = ctypes.c_int()
            self._call("cuDeviceGet", ctypes.byref(number), device)
            context = ctypes.c_void_p()
            self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), number)
            self._call("cuCtxSetCurrent", context)
        except CudaError as error:
            raise LoadError(f"no GPU to run on: {error}") from error
        self.name = self._name(number)

    def allocate(self, size):
        """An address, aligned to 256 bytes."""
        address = ctypes.c_uint64()
        self._call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address.value

    def free(self, address):
        self._call("cuMemFree_v2", ctypes.c_uint64(address))

    def to_device(self, address, host, size):
        self._call(
            "cuMemcpyHtoD_v2",
            ctypes.c_uint64(address),
            ctypes.c_void_p(host),
            ctypes.c_size_t(size),
        )

    def to_host(self, host, address, size):
        self._call(
            "cuMemcpyDtoH_v2",
            ctypes.c_void_p(host),
            ctypes.c_uint64(address),
            ctypes.c_size_t(size),
        )

    def synchronize(self):
        """Of all streams of the context."""
        self._call("cuCtxSynchronize")

    def _call(self, name, *arguments):
        code = getattr(self._cuda, name)(*arguments)
        if code != 0:
            raise CudaError(self._text(code))

    def _text(self, code):
        name, what = ctypes.c_char_p(), ctypes.c_char_p()
        self._cuda.cuGetErrorName(code, ctypes.byref(name))
        self._cuda.cuGetErrorString(code, ctypes.byref(what))
        known = _RUNTIME_NAMES.get(code) or (name.value or b"error").decode()
        return f"{known}: {(what.value or b'%d' % code).decode()}"

    def _name(self, number):
        text = ctypes.create_string_buffer(256)
        self._call("cuDeviceGetName", text, 256, number)
        capability = []
        for attribute in (_MAJOR, _MINOR):
            value = ctypes.c_int()
            self._call("cuDeviceGetAttribute", ctypes.byref(value), attribute, number)
            capability.append(value.value)
        version = ctypes.c_int()
        self._call("cuDriverGetVersion", ctypes.byref(version))
        cuda = f"{version.value // 1000}.{version.value % 1000 // 10}"
        return (
            f"{text.value.decode()} (sm_{capability[0]}{capability[1]}), driver "
            f"{_driver_version() or 'for CUDA ' + cuda}, CUDA {cuda}"
        )


def _driver_version():
    """The kernel module's, which reports and bug trackers go by."""
    try:
        with open("/sys/module/nvidia/version") as file:
            return file.read().strip()
    except OSError:
        return ""
