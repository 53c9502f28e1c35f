"""A writer of fp8_ds_mla rows in numpy, to copy from."""

import numpy as np

description = "name: 'numpy writer' contract { writer { inputs: BF16 } }"


def from_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def to_e4m3(x):  # fp32 to nearest even, saturating
    bits = x.view(np.uint32)
    magnitude = bits & 0x7FFFFFFF
    # What is cut off rounds to even; the exponent's bias goes from 127 to 7.
    normal = (magnitude + 0x7FFFF + (magnitude >> 20 & 1) >> 20) - (120 << 3)
    small = np.rint(np.abs(x) * 512).astype(np.uint32)  # steps of 2^-9
    code = np.where(magnitude < 0x3C800000, small, np.minimum(normal, 0x7E))
    is_nan = magnitude > 0x7F800000
    return np.where(is_nan, 0x7F, code | bits >> 24 & 0x80).astype(np.uint8)


@np.errstate(all="ignore")
def write(kv_c, k_pe, slot_mapping, cache):
    kept = np.flatnonzero(slot_mapping >= 0)
    slots = slot_mapping[kept]
    tiles = from_bf16(kv_c[kept]).reshape(-1, 4, 128)
    # Of what is no NaN.
    amax = np.fmax.reduce(np.abs(tiles), axis=2, initial=0)
    scales = np.maximum(amax / np.float32(448), np.float32(2**-126))
    rows = np.zeros((len(kept), 656), np.uint8)
    rows[:, :512] = to_e4m3(tiles / scales[:, :, None]).reshape(-1, 512)
    rows[:, 512:528] = scales.view(np.uint8)
    if k_pe is not None:  # without rope, the tail is zero
        rows[:, 528:] = k_pe[kept].view(np.uint8)
    page_size = cache.shape[1]
    cache[slots // page_size, slots % page_size] = rows
