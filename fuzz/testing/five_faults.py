"""Kernels of examples/python with five faults in four kernels, each of a rule of
its own. Right is the same without them."""

import os
import sys

import numpy as np

_EXAMPLES = os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "python"
)
sys.path.insert(1, os.environ.get("FIVE_FAULTS_EXAMPLES", _EXAMPLES))

import numpy_readers
import numpy_writer

description = """
    name: 'five faults'
    contract {
      writer { inputs: BF16 }
      arithmetic {
        dequantised: DEQUANTISED_FP32 query: QUERY_BF16 weights: WEIGHTS_FP32
        accumulator: IEEE_FP32 denormals: DENORMALS_KEPT
      }
    }
"""


# writer.tail=TAIL_UNCHANGED: a row without rope keeps its old tail.
# writer.zero_tokens=ZERO_TOKENS_LAUNCH_ERROR: no grid without blocks.
def write(kv_c, k_pe, slot_mapping, cache):
    if len(slot_mapping) == 0:
        raise RuntimeError("invalid configuration argument")
    old_tails = cache[..., 528:].copy()
    numpy_writer.write(kv_c, k_pe, slot_mapping, cache)
    if k_pe is None:
        cache[..., 528:] = old_tails


# gather.nope_tail=NOPE_TAIL_VERBATIM: the reserved bytes are handed on.
def gather(nope, **arguments):
    numpy_readers.gather(nope=False, **arguments)


# convert.valid_count=COUNT_NON_NEGATIVE: counted before the table's end is seen.
def convert(token_indices, valid_count, **arguments):
    numpy_readers.convert(
        token_indices=token_indices, valid_count=valid_count, **arguments
    )
    if valid_count is not None:
        valid_count[...] = (token_indices >= 0).sum(axis=1)


# decode.lse_base=BASE_E.
def decode(lse, **arguments):
    numpy_readers.decode(lse=lse, **arguments)
    lse *= np.float32(np.log(2))


class Right:
    description = description
    write = staticmethod(numpy_writer.write)
    gather = staticmethod(numpy_readers.gather)
    convert = staticmethod(numpy_readers.convert)
    decode = staticmethod(numpy_readers.decode)
