"""A published test of a writer beside this harness, on the same wrong kernels,
in one run.

The test is that of fp8_ds_mla rows in vllm-project/vllm
tests/kernels/attention/test_cache.py @00228592: 42 tokens, 8 pages of 16, normal
values; codes as byte numbers, scales and rope within atol 1e-3 and rtol 0.1. In
torch, its reference over all tokens at once, which is kinder to it than a loop
over them.

    peer_writer.py MLAFUZZ WRITERS [SECONDS]

WRITERS: the program of peer_targets.cc.
"""

import json
import math
import mmap
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


class Writers:
    """The writers of peer_targets.cc, on tensors that it maps too."""

    def __init__(self, program, folder):
        self._words = [program, os.path.join(folder, "memory")]
        names = subprocess.run([program], stdout=subprocess.PIPE, check=True)
        self.names = names.stdout.decode().split()
        parts = (
            ("kv_c", torch.bfloat16, (_TOKENS, 512)),
            ("k_pe", torch.bfloat16, (_TOKENS, 64)),
            ("slots", torch.int64, (_TOKENS,)),
            ("cache", torch.uint8, (_PAGES, _PAGE_SIZE, 656)),
        )
        size = sum(dtype.itemsize * math.prod(shape) for _, dtype, shape in parts)
        with open(self._words[1], "w+b") as file:
            file.truncate(size)
            memory = mmap.mmap(file.fileno(), size)
        at = 0
        for name, dtype, shape in parts:
            count = math.prod(shape)
            flat = torch.frombuffer(memory, dtype=dtype, count=count, offset=at)
            setattr(self, name, flat.reshape(shape))
            at += dtype.itemsize * count
        self._process = None

    def write(self, target):
        """Raises AssertionError; a process that dies is started anew."""
        if self._process is None:
            self._process = subprocess.Popen(
                self._words, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        self._process.stdin.write(target.encode() + b"\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().strip()
        if not answer:
            self._process.wait()
            self._process = None
        assert answer == b"0", f"the call ended with {answer or 'its process'}"

    def end(self):
        if self._process is not None:
            self._process.communicate()


def published_test(writers, target, seed):
    """Raises AssertionError."""
    torch.manual_seed(seed)
    slots, kv_c, k_pe, cache = writers.slots, writers.kv_c, writers.k_pe, writers.cache
    slots.copy_(torch.randperm(_PAGES * _PAGE_SIZE)[:_TOKENS])
    kv_c.copy_(torch.randn(_TOKENS, 512, dtype=torch.bfloat16))
    k_pe.copy_(torch.randn(_TOKENS, 64, dtype=torch.bfloat16))
    cache.zero_()
    writers.write(target)
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


def caught_by_test(writers, target):
    """In how many of the seeds."""
    caught = 0
    for seed in range(_SEEDS):
        try:
            published_test(writers, target, seed)
        except AssertionError:
            caught += 1
    return caught


def test_rate(writers, seconds):
    count = 0
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        published_test(writers, "builtin", count)
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

    def rate(self, seconds):
        """Cases a second of a campaign on builtin's writer: its own cases,
        relations on one in eight."""
        out = f"{self._folder}/rate"
        self._run(
            "campaign", "--kernels=writer", "--jobs=1", "--flavour=plain",
            f"--time={seconds}s", f"--out={out}",
        )  # fmt: skip
        with open(f"{out}/report.json") as file:
            report = json.load(file)
        return report["cases"] / report["seconds"]

    def rate_of_case(self):
        """Runs of that case a second, all relations on it included."""
        seconds = []
        few, many = 20, 220
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
    with tempfile.TemporaryDirectory() as folder:
        harness = Harness(program, folder)
        writers = Writers(path, folder)
        print(f"published test, torch {torch.__version__}, one core, host:")
        print(f"  {test_rate(writers, float(seconds)):8.0f} cases/s")
        print("here, every byte, plain, one job, host:")
        print(f"  {harness.rate(seconds):8.0f} cases/s of a campaign")
        rate = harness.rate_of_case()
        print(f"  {rate:8.0f} runs/s of the test's case with every relation on it")
        print(
            f"{'target':34} {'test, ' + str(_SEEDS) + ' seeds':>16} "
            f"{'its shape here':>15} {'campaign, ' + seconds + ' s':>15}"
        )
        for target in writers.names:
            row = (
                caught_by_test(writers, target),
                "found" if harness.caught_by_case(target) else "-",
                "found" if harness.caught_by_campaign(target, seconds) else "-",
            )
            print(f"{target:34} {row[0]:>16} {row[1]:>15} {row[2]:>15}", flush=True)
        writers.end()
    return 0


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
