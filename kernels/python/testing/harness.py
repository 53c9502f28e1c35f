"""The harness' side of kernels/foreign/wire.h, as far as tests of the runner
need it: one runner, calls on tensors that are given as numpy arrays."""

import fcntl
import mmap
import os
import socket
import struct
import subprocess
import sys

import numpy

_CAPACITY = 1 << 24
_SIDE = 1 << 20
KERNELS = ("write", "gather", "convert", "decode")
_IDS = {
    "kv_c": 0,
    "k_pe": 1,
    "slot_mapping": 2,
    "dst": 3,
    "block_table": 4,
    "workspace_starts": 5,
    "seq_lens": 6,
    "seq_starts": 7,
    "request_ids": 8,
    "token_indices": 9,
    "out": 10,
    "valid_count": 11,
    "q": 12,
    "indices": 13,
    "lengths": 14,
    "sinks": 15,
    "attention": 16,
    "lse": 17,
    "dst_scales": 19,
    "extra_cache": 20,
    "extra_indices": 21,
    "extra_lengths": 22,
    "prefill_request_ids": 23,
    "prefill_workspace_starts": 24,
    "cache": 0xFFFF,
}
# uint16 stands for bfloat16, as in modules.
_CODES = {"int32": (0, 32), "int64": (0, 64), "uint8": (1, 8), "uint16": (4, 16)}
_CODES |= {"float16": (2, 16), "float32": (2, 32)}


class Runner:
    """`hello`: (implements, description, device), or why it was not loaded."""

    def __init__(
        self, module, name="", folder="", python=sys.executable, device="host"
    ):
        here = os.path.dirname(os.path.abspath(__file__))
        self._socket, theirs = socket.socketpair()
        self._arena_fd = os.memfd_create("arena")
        os.ftruncate(self._arena_fd, _CAPACITY)
        self._control_fd = os.memfd_create("control")
        os.ftruncate(self._control_fd, 40)
        self.log = os.memfd_create("log")

        given = (theirs.fileno(), self._arena_fd, self._control_fd)

        def place():
            for to in (1, 2):
                os.dup2(self.log, to)
            # Above the numbers that they are to get.
            high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 64) for fd in given]
            for to, fd in zip((3, 4, 5), high):
                os.dup2(fd, to)
            os.closerange(64, 128)

        self.process = subprocess.Popen(
            [python, "-B", here + "/../runner.py", module, name, folder, device],
            stdin=subprocess.DEVNULL,
            preexec_fn=place,
            close_fds=False,
            start_new_session=True,
        )
        theirs.close()
        self.arena = numpy.frombuffer(
            mmap.mmap(self._arena_fd, _CAPACITY), numpy.uint8
        )
        kind, payload = self._receive()
        if kind != 1:
            self.hello = payload.decode()
            return
        abi, implements, text, device, _, _ = struct.unpack_from("<6I", payload)
        assert abi == 1
        self.hello = (
            implements,
            payload[24 : 24 + text].decode(),
            payload[24 + text : 24 + text + device].decode(),
        )

    def call(self, kernel, **arguments):
        return self.batch([(kernel, arguments)])[0]

    def batch(self, calls):
        """(status, message) of each; results are in the arrays given, `strays`
        has (id, first, last, count) of what was written outside of them."""
        at = 4096
        body = b""
        back = []
        for kernel, arguments in calls:
            scalars = {k: v for k, v in arguments.items() if not hasattr(v, "shape")}
            tensors = b""
            count = 0
            for name, array in arguments.items():
                if not hasattr(array, "shape"):
                    continue
                if kernel == "decode" and name == "out":
                    name = "attention"
                code, bits = _CODES[array.dtype.name]
                place = self.arena[at : at + array.nbytes].view(array.dtype)
                place = place.reshape(array.shape)
                place[...] = array
                back.append((array, place))
                shape = (array.shape + (0, 0, 0))[:3]
                strides = [s // array.itemsize for s in place.strides]
                strides = (strides + [0, 0, 0])[:3]
                tensors += struct.pack(
                    "<IBBHQ6qQQ",
                    _IDS[name],
                    code,
                    bits,
                    array.ndim,
                    at,
                    *shape,
                    *strides,
                    at,
                    array.nbytes,
                )
                count += 1
                at += array.nbytes + 256 & -256
            body += struct.pack(
                "<IIIifIqqqqQ",
                KERNELS.index(kernel),
                1,
                count,
                int(scalars.get("nope", 0)),
                scalars.get("softmax_scale", 0.0),
                0,
                scalars.get("page_size", 0),
                scalars.get("splits", 0),
                scalars.get("declared_topk", 0),
                scalars.get("query_length", 1),
                0,
            )
            body += tensors
        run = struct.pack("<QQQQII", _CAPACITY, _SIDE, 0, 0, len(calls), 0)
        payload = run + body
        self._socket.sendall(struct.pack("<IHHQ", 0x5A464C4D, 2, 3, len(payload)))
        self._socket.sendall(payload)
        kind, reply = self._receive()
        if kind == 5:  # DeviceFault
            return reply[8:].decode()
        assert kind == 4, kind
        for array, place in back:
            array[...] = place
        results = []
        self.strays = []
        at = 0
        for _ in calls:
            status, length, strays, _ = struct.unpack_from("<iIII", reply, at)
            at += 16
            results.append((status, reply[at : at + length].decode()))
            at += length
            for _ in range(strays):
                stray, _, *where = struct.unpack_from("<IIqqq", reply, at)
                self.strays.append((stray, *where))
                at += 32
        assert at == len(reply)
        return results

    def printed(self):
        return os.pread(self.log, 1 << 20, 0).decode(errors="replace")

    def end(self):
        """Its exit code, once nobody speaks to it any more."""
        self._socket.close()
        code = self.process.wait(timeout=20)
        for fd in (self._arena_fd, self._control_fd, self.log):
            os.close(fd)
        return code

    def _receive(self):
        head = self._read(16)
        magic, version, kind, length = struct.unpack("<IHHQ", head)
        assert (magic, version) == (0x5A464C4D, 2)
        return kind, self._read(length)

    def _read(self, size):
        data = b""
        while len(data) < size:
            part = self._socket.recv(size - len(data))
            if not part:
                raise EOFError(f"the runner ended: {self.printed()}")
            data += part
        return data
