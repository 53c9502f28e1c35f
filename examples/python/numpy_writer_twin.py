"""numpy_writer.py with a fault: a row without rope keeps its old tail."""

import numpy_writer
from numpy_writer import description


def write(kv_c, k_pe, slot_mapping, cache):
    old_tails = cache[..., 528:].copy()
    numpy_writer.write(kv_c, k_pe, slot_mapping, cache)
    if k_pe is None:
        cache[..., 528:] = old_tails
