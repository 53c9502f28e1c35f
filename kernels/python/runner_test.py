"""The runner of Python modules, by its protocol alone."""

import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(_HERE, "testing"))

import harness
import xml_results

_OK, _REFUSED, _ERROR, _NOT_IMPLEMENTED = 0, 1, 2, 3
_ATTACH = os.path.join(_HERE, "testing", "attach.py")
_MISBEHAVE = os.path.join(_HERE, "testing", "misbehave.py")


def written_file(text, name="kernels_of_mine.py"):
    folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(text)
    return path


def write_call(tokens=2):
    return {
        "kv_c": np.zeros((tokens, 512), np.uint16),
        "k_pe": np.zeros((tokens, 64), np.uint16),
        "slot_mapping": np.arange(tokens),
        "cache": np.full((1, 4, 656), 0xA5, np.uint8),
    }


def convert_call(tokens=3):
    return {
        "page_size": 4,
        "request_ids": np.zeros(tokens, np.int32),
        "block_table": np.array([[5, 7]], np.int32),
        "token_indices": np.tile(np.array([1, 6, -1, 9], np.int32), (tokens, 1)),
        "out": np.full((tokens, 4), 99, np.int32),
        "valid_count": np.full(tokens, 99, np.int32),
    }


class RunnerTest(unittest.TestCase):
    def runner(self, *arguments, **options):
        runner = harness.Runner(*arguments, **options)
        self.addCleanup(runner.end)
        return runner


class Attach(RunnerTest):
    def why(self, name="", module=_ATTACH, **options):
        runner = self.runner(module, name, **options)
        self.assertIsInstance(runner.hello, str, runner.hello)
        self.assertEqual(runner.process.wait(timeout=20), 0)
        return runner.hello

    def test_says_what_cannot_be_attached_and_the_way_out(self):
        for name, text in {
            "Gone": "attach.py has no Gone",
            "Nothing": "none of write, gather, convert, decode; name the object "
            "that has them: python:",
            "NoFunction": "NoFunction.write is an int, no function",
            "FewArguments": "passed by name: kv_c, k_pe, slot_mapping, cache",
            "OddDescription": "OddDescription.description is an int, not text",
            "OddTensors": "'lists'; known: numpy, ml_dtypes, torch, cupy, jax",
            "CannotBeMade": "CannotBeMade: OSError: no licence; at attach.py:",
        }.items():
            with self.subTest(name):
                self.assertIn(text, self.why(name))

    def test_names_a_module_that_is_not_there(self):
        self.assertIn("finds no module nowhere", self.why(module="nowhere"))
        self.assertIn("finds no module nowhere", self.why(module="nowhere.inner"))
        path = written_file("import nobody_has_this\n")
        self.assertIn("it needs nobody_has_this", self.why(module=path))
        self.assertIn("--python", self.why(module=path))

    def test_says_where_a_module_fails(self):
        path = written_file("def write(:\n")
        self.assertIn("SyntaxError", self.why(module=path))
        self.assertIn("line 1", self.why(module=path))
        path = written_file("x = 1\ny = 1 / 0\n")
        self.assertIn(
            "ZeroDivisionError: division by zero; at kernels_of_mine.py:2 in "
            "<module>: y = 1 / 0",
            self.why(module=path),
        )

    def test_takes_modules_classes_and_objects(self):
        implements, description, device = self.runner(_ATTACH).hello
        self.assertEqual(implements, 1)
        self.assertIn(f'source: "{_ATTACH}"', description)
        self.assertIn('tensors: "numpy over shared memory', description)
        self.assertEqual(device, "")
        self.assertEqual(self.runner(_ATTACH, "Inner.Deep").hello[0], 1)
        self.assertEqual(self.runner(_MISBEHAVE, "Right").hello[0], 4)

    def test_takes_a_dotted_name_from_the_callers_folder(self):
        path = written_file("def gather(**_): pass\n")
        folder, name = os.path.split(path)
        self.assertEqual(self.runner(name[:-3], folder=folder).hello[0], 2)

    def test_a_file_finds_its_neighbours(self):
        path = written_file("from neighbour import decode\n")
        with open(os.path.join(os.path.dirname(path), "neighbour.py"), "w") as file:
            file.write("def decode(**_): pass\n")
        self.assertEqual(self.runner(path).hello[0], 8)

    def test_declares_as_text_or_dict(self):
        self.assertIn(
            'name: "a \\"quoted\\" name"\nversion: "3"\n'
            "contract { writer { scale: RAW } }",
            self.runner(_ATTACH, "as_text").hello[1],
        )
        self.assertIn(
            "contract { writer { scale: POW2_CEIL inputs: BF16 inputs: F16 "
            "floor_bits: 1 } }\ndevices: HOST\ndevices: CUDA",
            self.runner(_ATTACH, "as_dict").hello[1],
        )


class Call(RunnerTest):
    def test_arrays_are_the_shared_memory(self):
        path = written_file(
            "def write(kv_c, k_pe, slot_mapping, cache):\n"
            "    assert kv_c.dtype == 'uint16' and kv_c.shape == (2, 512)\n"
            "    assert slot_mapping.dtype == 'int64', slot_mapping.dtype\n"
            "    assert k_pe is None\n"
            "    cache[0, slot_mapping] = 7\n"
        )
        call = write_call()
        del call["k_pe"]
        self.assertEqual(self.runner(path).call("write", **call), (_OK, ""))
        self.assertTrue((call["cache"][0, :2] == 7).all())
        self.assertTrue((call["cache"][0, 2:] == 0xA5).all())

    def test_scalars_arrive(self):
        path = written_file(
            "def decode(q, cache, indices, lengths, sinks, out, lse,\n"
            "           softmax_scale, splits, declared_topk, query_length):\n"
            "    lse[0, 0] = softmax_scale\n"
            "    lse[0, 1] = splits * 100 + declared_topk * 10 + query_length\n"
            "def gather(nope, dst, **_):\n"
            "    dst[...] = 5 if nope is True else 6\n"
        )
        runner = self.runner(path)
        lse = np.zeros((1, 2), np.float32)
        answer = runner.call(
            "decode",
            q=np.zeros((1, 2, 576), np.uint16),
            out=np.zeros((1, 2, 512), np.uint16),
            lse=lse,
            softmax_scale=0.25,
            splits=4,
            declared_topk=3,
            query_length=2,
        )
        self.assertEqual(answer, (_OK, ""))
        self.assertEqual(lse.tolist(), [[0.25, 432]])
        for nope, value in ((1, 5), (0, 6)):
            dst = np.zeros((1, 576), np.uint16)
            self.assertEqual(runner.call("gather", nope=nope, dst=dst), (_OK, ""))
            self.assertTrue((dst == value).all())

    def test_a_gather_of_codes_gets_its_scales(self):
        path = written_file(
            "def gather(dst, dst_scales=None, **_):\n"
            "    if dst_scales is None:\n"
            "        return dst * 0 + 7\n"
            "    return dst + 1, dst_scales + 0.5\n"
        )
        runner = self.runner(path)
        codes, scales = np.ones((2, 128), np.uint8), np.ones((2, 1), np.float32)
        answer = runner.call("gather", dst=codes, dst_scales=scales)
        self.assertEqual(answer, (_OK, ""))
        self.assertTrue((codes == 2).all() and (scales == 1.5).all())
        values = np.ones((2, 576), np.uint16)
        self.assertEqual(runner.call("gather", dst=values), (_OK, ""))
        self.assertTrue((values == 7).all())

    def test_a_decode_gets_its_second_cache(self):
        path = written_file(
            "def decode(lse, extra_cache=None, extra_indices=None,\n"
            "           extra_lengths=None, **_):\n"
            "    lse[:] = [x is not None and x.shape[0] for x in\n"
            "              (extra_cache, extra_indices, extra_lengths)]\n"
        )
        runner = self.runner(path)
        lse = np.zeros((1, 3), np.float32)
        extra = {
            "extra_cache": np.zeros((5, 2, 584), np.uint8),
            "extra_indices": np.zeros((3, 4), np.int32),
        }
        self.assertEqual(runner.call("decode", lse=lse, **extra), (_OK, ""))
        self.assertEqual(lse.tolist(), [[5, 3, 0]])
        self.assertEqual(runner.call("decode", lse=lse), (_OK, ""))
        self.assertEqual(lse.tolist(), [[0, 0, 0]])

    def test_results_may_be_returned(self):
        for name in ("Right", "NonContiguous"):
            with self.subTest(name):
                call = convert_call()
                runner = self.runner(_MISBEHAVE, name)
                self.assertEqual(runner.call("convert", **call), (_OK, ""))
                self.assertEqual(call["out"].tolist(), [[21, 30, -1, -1]] * 3)
                self.assertEqual(call["valid_count"].tolist(), [2] * 3)

    def test_what_is_no_result_is_named(self):
        for name, text in {
            "WrongDtype": "returned out with dtype int64, expected int32",
            "WrongShape": "returned out with shape (3, 3), expected (3, 4)",
            "NoArray": "returned a builtins.list for out, expected a numpy array",
            "TooMany": "returned 3 results, where there are 2: out, valid_count",
        }.items():
            with self.subTest(name):
                runner = self.runner(_MISBEHAVE, name)
                # Few tokens: it goes well, and does again after it went wrong.
                few = runner.call("convert", **convert_call(2))
                answer = runner.call("convert", **convert_call())
                again = runner.call("convert", **convert_call(2))
                self.assertEqual([few, again], [(_OK, "")] * 2)
                self.assertEqual(answer, (_ERROR, text))

    def test_an_exception_says_where_it_came_from(self):
        status, text = self.runner(_MISBEHAVE, "Raises").call("convert", **convert_call())
        self.assertEqual(status, _ERROR)
        self.assertRegex(
            text,
            r"^ValueError: 3 tokens are too many \| for me; at misbehave.py:\d+ in "
            r"misbehave: raise ValueError.*; called at misbehave.py:\d+ in convert",
        )

    def test_a_long_text_is_cut(self):
        runner = self.runner(_MISBEHAVE, "RaisesWithLongText")
        status, text = runner.call("convert", **convert_call())
        self.assertEqual(status, _ERROR)
        self.assertLess(len(text), 4096)
        self.assertRegex(text, r"^RuntimeError: long .*\.\.\.; at misbehave")
        status, text = self.runner(_MISBEHAVE, "Recurses").call("convert", **convert_call())
        self.assertIn("RecursionError", text)

    def test_refusals_and_skips(self):
        self.assertEqual(
            self.runner(_ATTACH, "Refuses").call("write", **write_call()),
            (_REFUSED, "4 columns, at most 3"),
        )
        runner = self.runner(_ATTACH, "Skips")
        self.assertEqual(runner.call("write", **write_call()), (_NOT_IMPLEMENTED, ""))
        self.assertEqual(
            runner.call("convert", **convert_call()), (_NOT_IMPLEMENTED, "")
        )

    def test_batches_answer_each_call(self):
        runner = self.runner(_MISBEHAVE, "Raises")
        calls = [("convert", convert_call(n)) for n in (1, 3, 2)]
        answers = runner.batch(calls)
        self.assertEqual([status for status, _ in answers], [_OK, _ERROR, _OK])
        self.assertEqual(calls[2][1]["out"].tolist(), [[21, 30, -1, -1]] * 2)
        self.assertTrue((calls[1][1]["out"] == 99).all())

    def test_output_reaches_the_log_alone(self):
        runner = self.runner(_MISBEHAVE, "Prints")
        for _ in range(2):
            self.assertEqual(runner.call("convert", **convert_call()), (_OK, ""))
        self.assertIn("x" * 1000, runner.printed())

    def test_a_closed_descriptor_has_its_exit_code(self):
        runner = self.runner(_MISBEHAVE, "ClosesPipe")
        with self.assertRaises(EOFError):
            runner.call("convert", **convert_call())
        self.assertEqual(runner.process.wait(timeout=20), 98)

    def test_a_fault_names_its_line(self):
        runner = self.runner(_MISBEHAVE, "Segfaults")
        with self.assertRaises(EOFError):
            runner.call("convert", **convert_call())
        self.assertEqual(runner.process.wait(timeout=20), -11)
        self.assertRegex(
            runner.printed(), r'Fatal Python error.*\n[^F]*\n? *File .*misbehave.py"'
        )

    def test_below_low_is_a_fault(self):
        # Strides gone wrong must not reach another case's bytes unseen.
        path = written_file(
            "import ctypes\n"
            "def write(cache, **_):\n"
            "    ctypes.memset(cache.ctypes.data - (1 << 24), 0, 1)\n"
        )
        runner = self.runner(path)
        with self.assertRaises(EOFError):
            runner.call("write", **write_call())
        self.assertEqual(runner.process.wait(timeout=20), -11)


class FrameworkTest(RunnerTest):
    """With the Python, or the venv, that $MLAFUZZ_PYTHON names."""

    def attached(self, package, text, name="framework_kernels.py", **options):
        python = os.environ.get("MLAFUZZ_PYTHON", sys.executable)
        if os.path.isdir(python):
            python += "/bin/python3"
        tried = subprocess.run(
            [python, "-c", f"import {package}"], capture_output=True, text=True
        )
        if tried.returncode != 0:
            self.skipTest(f"{python}: {tried.stderr.strip().splitlines()[-1]}")
        return self.runner(written_file(text, name), python=python, **options)


class Frameworks(FrameworkTest):
    def test_ml_dtypes_has_a_bfloat16(self):
        runner = self.attached(
            "ml_dtypes",
            "tensors = 'ml_dtypes'\n"
            "def write(kv_c, cache, **_):\n"
            "    assert str(kv_c.dtype) == 'bfloat16', kv_c.dtype\n"
            "    assert (kv_c == 1).all()\n"
            "    cache[0, 0] = 7\n",
        )
        call = write_call()
        call["kv_c"][...] = 0x3F80  # 1
        self.assertEqual(runner.call("write", **call), (_OK, ""))
        self.assertTrue((call["cache"][0, 0] == 7).all())

    def test_torch_writes_in_place(self):
        runner = self.attached(
            "torch",
            "import torch\n"
            "tensors = 'torch'\n"
            "def write(kv_c, k_pe, slot_mapping, cache):\n"
            "    assert kv_c.dtype == torch.bfloat16 and kv_c.shape == (2, 512)\n"
            "    assert slot_mapping.dtype == torch.int64\n"
            "    cache[0, slot_mapping] = 7\n",
        )
        call = write_call()
        self.assertEqual(runner.call("write", **call), (_OK, ""))
        self.assertTrue((call["cache"][0, :2] == 7).all())
        self.assertTrue((call["cache"][0, 2:] == 0xA5).all())

    def test_torch_results_are_named(self):
        runner = self.attached(
            "torch",
            "import torch\n"
            "tensors = 'torch'\n"
            "def gather(dst, workspace_starts, **_):\n"
            "    return [\n"
            "        torch.ones_like(dst).T.contiguous().T,\n"
            "        dst.float(),\n"
            "        torch.empty_like(dst, device='meta'),\n"
            "        dst[:, :5],\n"
            "        dst.float().numpy(),\n"
            "    ][workspace_starts[0]]\n",
        )
        texts = (
            "",
            "returned dst with dtype torch.float32, expected torch.bfloat16",
            "returned dst with device meta, expected cpu",
            "returned dst with shape (2, 5), expected (2, 576)",
            "returned a numpy.ndarray for dst, expected a torch.Tensor",
        )
        for number, text in enumerate(texts):
            dst = np.zeros((2, 576), np.uint16)
            starts = np.array([number], np.int32)
            answer = runner.call("gather", dst=dst, workspace_starts=starts)
            self.assertEqual(answer, (_ERROR if text else _OK, text))
            self.assertTrue((dst == (0 if text else 0x3F80)).all())

    def test_jax_returns_its_results(self):
        runner = self.attached(
            "jax",
            "import jax.numpy as jnp\n"
            "tensors = 'jax'\n"
            "def convert(token_indices, valid_count, **_):\n"
            "    if len(token_indices) == 3:\n"
            "        return None\n"
            "    return token_indices + 1, valid_count * 0\n",
        )
        call = convert_call(2)
        self.assertEqual(runner.call("convert", **call), (_OK, ""))
        self.assertEqual(call["out"].tolist(), [[2, 7, 0, 10]] * 2)
        status, text = runner.call("convert", **convert_call(3))
        self.assertEqual(status, _ERROR)
        self.assertIn("returned no out; JAX arrays cannot be written", text)


class Gpu(FrameworkTest):
    """Frameworks on device 0, where there is one."""

    def on_device(self, package, text):
        runner = self.attached(package, text, device="0")
        if isinstance(runner.hello, str):
            self.assertRegex(
                runner.hello, "sees no GPU|no GPU to run on|JAX has no gpu"
            )
            self.skipTest(runner.hello)
        return runner

    def on_gpu(self, body):
        return self.on_device(
            "torch",
            "import ctypes, torch\n"
            "tensors = 'torch'\n"
            "def fill(address, count):\n"
            "    driver = ctypes.CDLL('libcuda.so.1')\n"
            "    address = ctypes.c_uint64(address)\n"
            "    return driver.cuMemsetD8_v2(address, 7, ctypes.c_size_t(count))\n"
            "def gather(cache, dst, **_):\n" + body,
        )

    def call(self):
        return {
            "cache": np.arange(656, dtype=np.int64).astype(np.uint8)[None, None],
            "dst": np.zeros((2, 576), np.uint16),
        }

    def test_tensors_are_the_device_memory(self):
        runner = self.on_gpu(
            "    assert dst.is_cuda and cache.is_cuda\n"
            "    assert cache[0, 0, 3] == 3, cache\n"
            "    dst[1] = 1\n"
        )
        self.assertRegex(runner.hello[2], r"\(sm_\d+\), driver ")
        self.assertIn("no copy", runner.hello[1])
        for _ in range(2):
            call = self.call()
            self.assertEqual(runner.call("gather", **call), (_OK, ""))
            self.assertTrue((call["dst"][0] == 0).all())
            self.assertTrue((call["dst"][1] == 0x3F80).all())
            self.assertEqual(runner.strays, [])

    def test_larger_calls_get_more_memory(self):
        runner = self.on_gpu("    dst[-1] = 1\n")
        for rows in (2, 2000, 3):
            call = self.call()
            call["dst"] = np.zeros((rows, 576), np.uint16)
            self.assertEqual(runner.call("gather", **call), (_OK, ""))
            self.assertEqual(int((call["dst"] == 0x3F80).sum()), 576)

    def test_writes_around_a_buffer_are_strays(self):
        runner = self.on_gpu(
            "    assert fill(dst.data_ptr() - 3, 2) == 0\n"
            "    assert fill(dst.data_ptr() + 2304 + 5, 1) == 0\n"
        )
        self.assertEqual(runner.call("gather", **self.call()), (_OK, ""))
        self.assertEqual(runner.strays, [(3, -3, 2309, 3)])

    def test_a_fault_ends_the_runner(self):
        runner = self.on_gpu(
            "    torch.zeros(4, device='cuda')[torch.tensor([1 << 40]).cuda()] = 1\n"
        )
        fault = runner.batch([("gather", self.call())])
        self.assertIsInstance(fault, str)
        self.assertRegex(fault, "^cudaError")
        self.assertEqual(runner.process.wait(timeout=60), 0)

    def test_cupy_writes_in_place(self):
        runner = self.on_device(
            "cupy",
            "import cupy\n"
            "tensors = 'cupy'\n"
            "def gather(cache, dst, **_):\n"
            "    assert isinstance(dst, cupy.ndarray) and dst.dtype == 'uint16'\n"
            "    assert int(cache[0, 0, 3]) == 3, cache\n"
            "    dst[1] = 0x3F80\n",
        )
        self.assertIn("no copy", runner.hello[1])
        for _ in range(2):
            call = self.call()
            self.assertEqual(runner.call("gather", **call), (_OK, ""))
            self.assertTrue((call["dst"][0] == 0).all())
            self.assertTrue((call["dst"][1] == 0x3F80).all())
            self.assertEqual(runner.strays, [])

    def test_cupy_results_are_named(self):
        runner = self.on_device(
            "cupy",
            "import cupy\n"
            "tensors = 'cupy'\n"
            "def gather(dst, workspace_starts, **_):\n"
            "    return [\n"
            "        cupy.full_like(dst, 0x3F80),\n"
            "        dst.astype('float32'),\n"
            "        dst[:, :5],\n"
            "        dst.get(),\n"
            "    ][int(workspace_starts[0])]\n",
        )
        texts = (
            "",
            "returned dst with dtype float32, expected uint16",
            "returned dst with shape (2, 5), expected (2, 576)",
            "returned a numpy.ndarray for dst, expected a cupy array",
        )
        for number, text in enumerate(texts):
            dst = np.zeros((2, 576), np.uint16)
            starts = np.array([number], np.int32)
            answer = runner.call("gather", dst=dst, workspace_starts=starts)
            self.assertEqual(answer, (_ERROR if text else _OK, text))
            self.assertTrue((dst == (0 if text else 0x3F80)).all())

    def test_jax_computes_there(self):
        runner = self.on_device(
            "jax",
            "tensors = 'jax'\n"
            "def convert(token_indices, valid_count, **_):\n"
            "    assert next(iter(token_indices.devices())).platform == 'gpu'\n"
            "    return token_indices + 1, valid_count * 0\n",
        )
        self.assertIn("copied through the host", runner.hello[1])
        call = convert_call(2)
        self.assertEqual(runner.call("convert", **call), (_OK, ""))
        self.assertEqual(call["out"].tolist(), [[2, 7, 0, 10]] * 2)


if __name__ == "__main__":
    xml_results.main()
