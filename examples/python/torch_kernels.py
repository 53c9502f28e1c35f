"""A writer and a sparse decode of fp8_ds_mla rows in torch, to copy from. On a
GPU too: --backend=cuda."""

import math

import torch

tensors = "torch"
description = """
    name: 'torch kernels'
    contract { writer { inputs: BF16 } }
    devices: HOST devices: CUDA
"""


def to_e4m3(x):  # torch saturates nothing, and keeps the sign of a NaN
    codes = x.clamp(-448, 448).to(torch.float8_e4m3fn).view(torch.uint8)
    return torch.where(x.isnan(), 0x7F, codes)


def write(kv_c, k_pe, slot_mapping, cache):
    kept = torch.nonzero(slot_mapping >= 0).flatten()
    slots = slot_mapping[kept]
    tiles = kv_c[kept].float().reshape(-1, 4, 128)
    magnitude = torch.where(tiles.isnan(), 0.0, tiles.abs())
    # Not by a number: on a GPU torch multiplies with its reciprocal.
    most = torch.full((), 448.0, device=tiles.device)
    scales = (magnitude.amax(dim=2) / most).clamp(min=2**-126)
    rows = torch.zeros(len(kept), 656, dtype=torch.uint8, device=cache.device)
    rows[:, :512] = to_e4m3(tiles / scales[:, :, None]).reshape(-1, 512)
    rows[:, 512:528] = scales.view(torch.uint8)
    if k_pe is not None:
        rows[:, 528:] = k_pe[kept].contiguous().view(torch.uint8)
    page_size = cache.shape[1]
    cache[slots // page_size, slots % page_size] = rows


def keys_of(rows):  # uint8 [n, 656] to float32 [n, 576]
    codes = rows[:, :512].view(torch.float8_e4m3fn).float()
    scales = rows[:, 512:528].contiguous().view(torch.float32)
    rope = rows[:, 528:].contiguous().view(torch.bfloat16).float()
    return torch.cat([codes * scales.repeat_interleave(128, dim=1), rope], dim=1)


def decode(
    q,
    cache,
    indices,
    lengths,
    sinks,
    out,
    lse,
    softmax_scale,
    splits,
    declared_topk,
    query_length,
):
    page_size = cache.shape[1]
    for query in range(q.shape[0]):
        slots = indices[query]
        if lengths is not None:
            slots = slots[: max(0, int(lengths[query]))]
        slots = slots[slots >= 0].long()
        keys = keys_of(cache[slots // page_size, slots % page_size])
        x = q[query].float()
        logits = x @ keys[:, : x.shape[1]].T * (softmax_scale * math.log2(math.e))
        sink = torch.full((len(x), 1), -math.inf, device=q.device)
        if sinks is not None:
            sink = sinks[:, None] * math.log2(math.e)
        if len(slots) == 0:
            out[query] = 0
            lse[query] = sink[:, 0]
            continue
        top = torch.maximum(logits.amax(dim=1, keepdim=True), sink)
        weights = torch.exp2(logits - top)
        # Both infinite: the sink is all there is.
        rest = torch.where(sink == top, 1.0, torch.exp2(sink - top))
        total = weights.sum(dim=1, keepdim=True) + rest
        out[query] = (weights @ keys[:, :512] / total).bfloat16()
        lse[query] = (top + torch.log2(total))[:, 0]
