"""A published test of a writer beside this harness, on the same wrong kernels,
in one run.

The test is that of fp8_ds_mla rows in vllm-project/vllm
tests/kernels/attention/test_cache.py @00228592: 42 tokens, 8 pages of 16, normal
values; codes as byte numbers, scales and rope within atol 1e-3 and rtol 0.1. In
torch, its reference over all tokens at once, which is kinder to it than a loop
over them.

    peer_writer.py MLAFUZZ LIBRARY [SECONDS]

LIBRARY: libpeer_targets.so of peer_targets.cc.
"""

import ctypes
import os
import subprocess
import sys
import tempfile
import time

import torch

_TOKENS, _PAGE_SIZE, _PAGES = 42, 16, 8
_CASE = f"""
    pool {{ page_size: {_PAGE_SIZE} pages: {_PAGES} }}
    steps {{ write {{ pe_dim: 64 kv_c {{ pattern: NORMAL_RANGE }}
      k_pe {{ pattern: NORMAL_RANGE }} slots {{ count: {_TOKENS} }} }} }}
"""
_SEEDS = 10


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


_CODES = {torch.bfloat16: (4, 16), torch.int64: (0, 64), torch.uint8: (1, 8)}


def _view(tensor):
    extents = (ctypes.c_int64 * tensor.ndim)(*tensor.shape)
    steps = (ctypes.c_int64 * tensor.ndim)(*tensor.stride())
    code, bits = _CODES[tensor.dtype]
    view = _Tensor(
        tensor.data_ptr(), 1, 0, tensor.ndim, code, bits, 1,
        ctypes.addressof(extents), ctypes.addressof(steps), 0,
    )  # fmt: skip
    view.held = (extents, steps, tensor)
    return view


def published_test(library, target, seed):
    """Raises AssertionError."""
    torch.manual_seed(seed)
    slots = torch.randperm(_PAGES * _PAGE_SIZE)[:_TOKENS]
    kv_c = torch.randn(_TOKENS, 512, dtype=torch.bfloat16)
    k_pe = torch.randn(_TOKENS, 64, dtype=torch.bfloat16)
    cache = torch.zeros(_PAGES, _PAGE_SIZE, 656, dtype=torch.uint8)
    views = [_view(tensor) for tensor in (kv_c, k_pe, slots, cache)]
    status = library.PeerWrite(target.encode(), *map(ctypes.byref, views))
    assert status == 0, f"the call ended with {status}"
    tiles = kv_c.float().reshape(_TOKENS, 4, 128)
    scales = tiles.abs().amax(dim=2) / 448
    if target == "builtin:pow2":  # its own test would expect what it declares
        scales = torch.exp2(torch.ceil(torch.log2(scales)))
    codes = (tiles / scales[:, :, None]).to(torch.float8_e4m3fn)
    rows = cache[slots // _PAGE_SIZE, slots % _PAGE_SIZE]
    close = {"atol": 1e-3, "rtol": 0.1}
    expected = codes.view(torch.uint8).reshape(_TOKENS, 512)
    torch.testing.assert_close(rows[:, :512].float(), expected.float(), **close)
    stored = rows[:, 512:528].contiguous().view(torch.float32)
    torch.testing.assert_close(stored, scales, **close)
    rope = rows[:, 528:].contiguous().view(torch.bfloat16)
    torch.testing.assert_close(rope, k_pe, **close)


def caught_by_test(library, target):
    """In how many of the seeds; in a process of its own, whose death counts."""
    caught = 0
    for seed in range(_SEEDS):
        child = os.fork()
        if child == 0:
            try:
                published_test(library, target, seed)
                os._exit(0)
            except AssertionError:
                os._exit(1)
        _, status = os.waitpid(child, 0)
        caught += status != 0
    return caught


def test_rate(library, seconds):
    count = 0
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        published_test(library, "builtin", count)
        count += 1
    return count / (time.perf_counter() - start)


class Harness:
    def __init__(self, program, folder):
        self._program = program
        self._folder = folder
        self._case = os.path.join(folder, "case.txtpb")
        with open(self._case, "w") as file:
            file.write(_CASE)

    def caught_by_case(self, target):
        return self._run("replay", self._case, f"--target={target}") == 1

    def caught_by_campaign(self, target, seconds):
        empty = os.path.join(self._folder, "empty")
        os.makedirs(empty, exist_ok=True)
        return 1 == self._run(
            "campaign", f"--target={target}", "--kernels=writer", "--jobs=1",
            f"--time={seconds}s", "--stop-on-first", f"--corpus={empty}",
            f"--out={self._folder}/out",
        )  # fmt: skip

    def rate(self):
        """Runs of that case a second, all relations on it included."""
        seconds = []
        few, many = 100, 2100
        for count in (few, many):
            start = time.perf_counter()
            code = self._run(
                "replay", self._case, f"--repeat={count}", "--flavour=plain"
            )
            assert code == 0, code
            seconds.append(time.perf_counter() - start)
        return (many - few) / (seconds[1] - seconds[0])

    def _run(self, *words):
        process = subprocess.run(
            [self._program, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        if process.returncode not in (0, 1):
            raise RuntimeError(f"{words}: {process.stdout.decode()}")
        return process.returncode


def main(program, path, seconds="5"):
    torch.set_num_threads(1)
    library = ctypes.CDLL(path)
    library.PeerTargets.restype = ctypes.c_char_p
    with tempfile.TemporaryDirectory() as folder:
        harness = Harness(program, folder)
        print(f"published test, torch {torch.__version__}, one core, host:")
        print(f"  {test_rate(library, float(seconds)):8.0f} cases/s")
        print("the same work here, every byte and all relations, plain, host:")
        print(f"  {harness.rate():8.0f} cases/s")
        print(
            f"{'target':34} {'test, ' + str(_SEEDS) + ' seeds':>16} "
            f"{'same case here':>15} {'campaign, ' + seconds + ' s':>15}"
        )
        for target in library.PeerTargets().decode().split():
            row = (
                caught_by_test(library, target),
                "found" if harness.caught_by_case(target) else "-",
                "found" if harness.caught_by_campaign(target, seconds) else "-",
            )
            print(f"{target:34} {row[0]:>16} {row[1]:>15} {row[2]:>15}", flush=True)
    return 0


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
