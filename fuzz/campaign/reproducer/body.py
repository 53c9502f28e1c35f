# ---- How the call is made again. Nothing below is of this finding.

import importlib
import importlib.util
import inspect
import os
import signal
import sys
import traceback
import types

try:
    import numpy
except ImportError as error:
    print(f"numpy cannot be imported: {error}\ncannot tell")
    sys.exit(2)

FIXED, BUG_IS_THERE, CANNOT_TELL = 0, 1, 2
# A child's answer is this much more: a module may exit by itself.
ANSWER = 40
# A hundred rows of a cache: what is sent before page 0 lands near it.
GUARD = 65536
POISON = 0xC9
MOST_SHOWN = 8

ARGUMENTS = {
    "write": "kv_c k_pe slot_mapping cache",
    "gather": "cache dst block_table workspace_starts seq_lens seq_starts nope",
    "convert": "request_ids block_table token_indices out valid_count page_size",
    "decode": "q cache indices lengths sinks out lse softmax_scale splits "
    "declared_topk query_length",
}
SCALARS = {
    "gather": ("nope",),
    "convert": ("page_size",),
    "decode": ("softmax_scale", "splits", "declared_topk", "query_length"),
}
# Given where a call has them.
OF_SOME_CALLS = (
    "dst_scales",
    "prefill_request_ids",
    "prefill_workspace_starts",
    "extra_cache",
    "extra_indices",
    "extra_lengths",
)
# In the order in which results are returned.
OUTPUTS = {
    "write": ("cache",),
    "gather": ("dst", "dst_scales"),
    "convert": ("out", "valid_count"),
    "decode": ("out", "lse"),
}
DTYPES = {
    "u8": "u1",
    "bf16": "u2",
    "f16": "f2",
    "f32": "f4",
    "i32": "i4",
    "i64": "i8",
}


class CannotTell(Exception):
    pass


class Failed(Exception):
    """A result that is none."""


def unpacked(pieces):
    return b"".join(piece * times for times, piece in pieces)


def patched(data, patches):
    data = bytearray(data)
    for at, times, piece in patches:
        data[at : at + times * len(piece)] = piece * times
    return bytes(data)


def load(name, folder):
    """The object with the kernels."""
    try:
        importlib.import_module("mlafuzz")
    except ImportError:
        shim = types.ModuleType("mlafuzz")
        sys.modules["mlafuzz"] = shim
        exec(MLAFUZZ, shim.__dict__)
    path, _, part = name.rpartition(":")
    if not path or "/" in part:
        path, part = name, ""
    if folder:
        sys.path.insert(1, folder)
    try:
        if path.endswith(".py"):
            sys.path.insert(1, os.path.dirname(os.path.abspath(path)))
            stem = os.path.basename(path)[:-3]
            spec = importlib.util.spec_from_file_location(stem, path)
            holder = importlib.util.module_from_spec(spec)
            sys.modules.setdefault(stem, holder)
            spec.loader.exec_module(holder)
        else:
            holder = importlib.import_module(path)
        for word in part.split(".") if part else []:
            holder = getattr(holder, word)
    except (ImportError, OSError, AttributeError) as error:
        raise CannotTell(f"cannot import {name}: {error}") from error
    return holder() if inspect.isclass(holder) else holder


class Staged:
    """A buffer between guards that are looked at afterwards."""

    def __init__(self, buffer):
        self.buffer = buffer
        self.before = unpacked(buffer["before"])
        size = len(self.before)
        self.storage = numpy.full(
            GUARD + 512 + size + GUARD, POISON, dtype=numpy.uint8
        )
        base = self.storage.ctypes.data + GUARD
        self.at = GUARD + (-base) % 256 + buffer["misalignment"]
        self.storage[self.at : self.at + size] = numpy.frombuffer(
            self.before, dtype=numpy.uint8
        )
        dtype = numpy.dtype(DTYPES[buffer["dtype"]])
        self.view = numpy.ndarray(
            buffer["shape"],
            dtype,
            self.storage,
            self.at + buffer["origin"],
            [dtype.itemsize * stride for stride in buffer["strides"]],
        )
        self.copy = None  # on a GPU

    def array(self, tensors):
        """What the module asks for, over these bytes."""
        if tensors == "numpy":
            return self.view
        bfloat16 = self.buffer["dtype"] == "bf16"
        if tensors == "ml_dtypes":
            import ml_dtypes

            return self.view.view(ml_dtypes.bfloat16) if bfloat16 else self.view
        if tensors == "torch" and CALL["device"]:
            return self.on_gpu()
        if tensors == "torch":
            import torch

            if not bfloat16:
                return torch.from_numpy(self.view)
            # torch knows no 16-bit unsigned numbers of numpy's.
            return torch.from_numpy(self.view.view(numpy.int16)).view(
                torch.bfloat16
            )
        if tensors == "jax" and not CALL["device"]:
            import jax
            import ml_dtypes

            # Slots are int64, which JAX would cut short.
            jax.config.update("jax_enable_x64", True)
            view = self.view.view(ml_dtypes.bfloat16) if bfloat16 else self.view
            return jax.numpy.array(view, copy=True)
        raise CannotTell(f"this script makes no arrays of {tensors} here")

    def on_gpu(self):
        import torch

        if not torch.cuda.is_available():
            raise CannotTell("torch sees no GPU")
        name = self.buffer["dtype"]
        kind = {
            "u8": torch.uint8,
            "bf16": torch.bfloat16,
            "f16": torch.float16,
            "f32": torch.float32,
            "i32": torch.int32,
            "i64": torch.int64,
        }[name]
        # From a multiple of 256 on, as the allocator gives them.
        self.skip = self.at - GUARD - self.buffer["misalignment"]
        self.copy = torch.from_numpy(self.storage[self.skip :].copy()).cuda()
        size = self.view.itemsize
        first = self.at - self.skip + self.buffer["origin"]
        usable = (self.copy.numel() - first) // size * size
        return (
            self.copy[first : first + usable]
            .view(kind)
            .as_strided(self.buffer["shape"], self.buffer["strides"])
        )

    def store(self, result):
        """Copies what a function returned in the place of writing it."""
        if self.copy is not None:
            if tuple(result.shape) != tuple(self.buffer["shape"]):
                raise Failed(
                    f"{self.buffer['name']}: expected shape "
                    f"{tuple(self.buffer['shape'])}, got {tuple(result.shape)}"
                )
            self.array_on_gpu.copy_(result)
            return
        if type(result).__module__.split(".")[0] == "torch":
            import torch

            result = result.detach()
            if result.dtype == torch.bfloat16:
                result = result.view(torch.int16)
            result = result.numpy()
        result = numpy.asarray(result)
        if result.dtype.name in ("bfloat16", "int16"):
            result = result.view(numpy.uint16)
        if result.dtype != self.view.dtype or result.shape != self.view.shape:
            raise Failed(
                f"{self.buffer['name']}: expected {self.view.dtype} "
                f"{self.view.shape}, got {result.dtype} {result.shape}"
            )
        numpy.copyto(self.view, result)

    def fetch(self):
        if self.copy is not None:
            self.storage[self.skip :] = self.copy.cpu().numpy()

    def got(self):
        return self.storage[self.at : self.at + len(self.before)].tobytes()

    def compare(self):
        """Prints what is wrong, the first few; how many are."""
        buffer, got = self.buffer, self.got()
        expected = patched(self.before, buffer["expected"])
        is_open = numpy.zeros(len(got), dtype=bool)
        for begin, end in buffer["open"]:
            is_open[begin:end] = True
        if not buffer["bounded"]:
            a, b = (numpy.frombuffer(x, dtype=numpy.uint8) for x in (expected, got))
            wrong = numpy.flatnonzero((a != b) & ~is_open)
            for at in wrong[:MOST_SHOWN]:
                print(
                    f"{buffer['name']} byte {at - buffer['origin']}: expected "
                    f"0x{a[at]:02x}, got 0x{b[at]:02x}"
                )
            if len(wrong):
                print(f"{buffer['name']}: {len(wrong)} bytes are wrong")
            return len(wrong)
        size = self.view.itemsize
        count = len(got) // size
        low, high, value = (
            floats(x, size)
            for x in (expected, patched(expected, buffer["highest"]), got)
        )
        with numpy.errstate(invalid="ignore"):
            fine = (low <= value) & (value <= high)
        fine |= numpy.isnan(low) & numpy.isnan(value)
        fine |= is_open[: count * size : size]
        wrong = numpy.flatnonzero(~fine)
        for i in wrong[:MOST_SHOWN]:
            print(
                f"{buffer['name']} element {i}: expected {low[i]:.9g} to "
                f"{high[i]:.9g}, got {value[i]:.9g}"
            )
        if len(wrong):
            print(f"{buffer['name']}: {len(wrong)} elements are wrong")
        return len(wrong)

    def strays(self):
        """Bytes that changed around it."""
        changed = self.storage != POISON
        changed[self.at : self.at + len(self.before)] = False
        at = numpy.flatnonzero(changed)
        if len(at):
            print(
                f"{len(at)} bytes around {self.buffer['name']} changed, the "
                f"first {at[0] - self.at} from its byte 0"
            )
        return len(at)


def floats(data, size):
    """bf16 or fp32 as fp32."""
    if size == 4:
        return numpy.frombuffer(data, dtype="<f4")
    words = numpy.frombuffer(data[: len(data) // 2 * 2], dtype="<u2")
    return (words.astype("<u4") << 16).view("<f4")


def call_and_compare(name):
    target = load(name, CALL["folder"])
    function = getattr(target, CALL["kernel"], None)
    if function is None:
        raise CannotTell(f"{name} has no {CALL['kernel']}")
    tensors = getattr(target, "tensors", "numpy")
    try:
        staged = {b["name"]: Staged(b) for b in CALL["buffers"]}
        arrays = {key: one.array(tensors) for key, one in staged.items()}
    except ImportError as error:
        raise CannotTell(f"tensors are {tensors!r}: {error}") from error
    for key, one in staged.items():
        one.array_on_gpu = arrays[key]
    arguments = dict.fromkeys(ARGUMENTS[CALL["kernel"]].split())
    for key, array in arrays.items():
        if key in arguments or key in OF_SOME_CALLS:
            arguments[key] = array
    if CALL["kernel"] == "gather" and CALL["softmax_scale"]:
        arguments["tensor_scale"] = CALL["softmax_scale"]
    for key in SCALARS.get(CALL["kernel"], ()):
        arguments[key] = CALL[key]
    mlafuzz = sys.modules["mlafuzz"]
    ended, words = "ok", ""
    try:
        result = function(**arguments)
        if result is not None:
            results = result if isinstance(result, (tuple, list)) else (result,)
            names = [n for n in OUTPUTS[CALL["kernel"]] if n in arguments]
            if len(results) > len(names):
                raise Failed(f"{len(results)} results, at most {len(names)}")
            for key, one in zip(names, results):
                if one is not None and key in staged and one is not arrays[key]:
                    staged[key].store(one)
    except mlafuzz.Refused as error:
        ended, words = "refused", str(error)
    except mlafuzz.Skip as error:
        raise CannotTell(f"the module skips this call: {error}") from error
    except Exception as error:
        ended = "error"
        words = "".join(traceback.format_exception_only(error)).strip()
    wrong = 0
    if ended != CALL["ends"]:
        print(f"the call: expected {CALL['ends']}, got {ended} ({words})")
        wrong = 1
    for one in staged.values():
        one.fetch()
        wrong += one.compare() + one.strays()
    return BUG_IS_THERE if wrong else FIXED


def reproduce(name):
    """The same in a process of its own, which may die or hang."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = BUG_IS_THERE
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(CALL["seconds"])
            code = call_and_compare(name)
        except CannotTell as error:
            print(error)
            code = CANNOT_TELL
        except SystemExit as error:
            print(f"the call: expected to return, got exit({error.code})")
        except Exception:
            traceback.print_exc(file=sys.stdout)
        sys.stdout.flush()
        os._exit(ANSWER + code)
    _, ended = os.waitpid(child, 0)
    code = BUG_IS_THERE
    if os.WIFSIGNALED(ended) and os.WTERMSIG(ended) == signal.SIGALRM:
        print(
            f"the call: expected to return, got nothing in {CALL['seconds']} s"
        )
    elif os.WIFSIGNALED(ended):
        print(f"the call: expected to return, got signal {os.WTERMSIG(ended)}")
    elif not ANSWER <= os.WEXITSTATUS(ended) <= ANSWER + CANNOT_TELL:
        print(
            f"the call: expected to return, got exit({os.WEXITSTATUS(ended)})"
        )
    else:
        code = os.WEXITSTATUS(ended) - ANSWER
    print(("all is as expected", "the bug is there", "cannot tell")[code])
    return code


if __name__ == "__main__":
    sys.exit(reproduce(sys.argv[1] if len(sys.argv) > 1 else CALL["module"]))
