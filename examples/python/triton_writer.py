"""A writer of fp8_ds_mla rows in Triton, to copy from. Without a GPU Triton
interprets it, which is slow and needs none; on one: --backend=cuda."""

import os

import torch

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")

import triton
import triton.language as tl

tensors = "torch"
description = """
    name: 'Triton writer'
    contract { writer { inputs: BF16 } }
    devices: HOST devices: CUDA
"""


@triton.jit
def to_e4m3(x):  # to nearest even, saturating, by the bits
    bits = x.to(tl.uint32, bitcast=True)
    magnitude = bits & 0x7FFFFFFF
    # What is cut off rounds to even; the exponent's bias goes from 127 to 7.
    normal = ((magnitude + 0x7FFFF + ((magnitude >> 20) & 1)) >> 20) - 960
    # Subnormal codes are steps of 2^-9: the sum has no room for less.
    steps = (tl.abs(x) + 16384.0).to(tl.uint32, bitcast=True) - 0x46800000
    code = tl.where(magnitude < 0x3C800000, steps, tl.minimum(normal, 0x7E))
    code = code | ((bits >> 24) & 0x80)
    return tl.where(magnitude > 0x7F800000, 0x7F, code).to(tl.uint8)


@triton.jit
def write_row(
    kv_c, kv_stride, k_pe, pe_stride, slots, cache, page_stride, row_stride, page_size,
    FLOOR: tl.constexpr, HAS_ROPE: tl.constexpr,
):  # fmt: skip
    token = tl.program_id(0)
    slot = tl.load(slots + token)
    if slot < 0:
        return
    row = cache + slot // page_size * page_stride + slot % page_size * row_stride
    column = tl.arange(0, 128)
    for tile in tl.static_range(4):
        raw = tl.load(kv_c + token.to(tl.int64) * kv_stride + 128 * tile + column)
        x = (raw.to(tl.uint32) << 16).to(tl.float32, bitcast=True)
        # Of what is no NaN.
        amax = tl.max(tl.where(x == x, tl.abs(x), 0.0), axis=0)
        scale = tl.maximum(tl.div_rn(amax, 448.0), FLOOR)
        codes = to_e4m3(tl.div_rn(x, scale + tl.zeros_like(x)))
        tl.store(row + 128 * tile + column, codes)
        byte = tl.arange(0, 4)
        bits = scale.to(tl.uint32, bitcast=True)
        tl.store(row + 512 + 4 * tile + byte, (bits >> (8 * byte)).to(tl.uint8))
    # Byte by byte: rows of a cache need no alignment.
    rope = tl.zeros([128], tl.uint8)
    if HAS_ROPE:
        raw = tl.load(k_pe + token.to(tl.int64) * pe_stride + column // 2)
        rope = (raw.to(tl.uint32) >> (8 * (column % 2))).to(tl.uint8)
    tl.store(row + 528 + column, rope)


def write(kv_c, k_pe, slot_mapping, cache, floor=2**-126):
    if len(slot_mapping) == 0:
        return
    has_rope = k_pe is not None
    rope = k_pe.view(torch.uint16) if has_rope else kv_c.view(torch.uint16)
    write_row[(len(slot_mapping),)](
        kv_c.view(torch.uint16), kv_c.stride(0), rope, rope.stride(0), slot_mapping,
        cache, cache.stride(0), cache.stride(1), cache.shape[1],
        FLOOR=floor, HAS_ROPE=has_rope,
    )  # fmt: skip
