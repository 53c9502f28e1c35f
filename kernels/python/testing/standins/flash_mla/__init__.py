"""Stands in for FlashMLA where it cannot be had: the same signatures, computed
in torch by the rules of docs/contracts.md, in blocks of 64 keys."""

import math

import torch

__version__ = "stand-in"
_BLOCK = 64


class FlashMLASchedMeta:
    pass


def get_mla_metadata(*args, **kwargs):
    return FlashMLASchedMeta(), None


def flash_mla_with_kvcache(
    q,
    k_cache,
    block_table,
    cache_seqlens,
    head_dim_v,
    tile_scheduler_metadata,
    num_splits=None,
    softmax_scale=None,
    causal=False,
    is_fp8_kvcache=False,
    indices=None,
    attn_sink=None,
    extra_k_cache=None,
    extra_indices_in_kvcache=None,
    topk_length=None,
    extra_topk_length=None,
):
    assert is_fp8_kvcache and indices is not None and head_dim_v == 512
    assert topk_length is None and extra_k_cache is None
    assert q.shape[1] == 1 and q.shape[2] in (64, 128) and q.shape[3] == 576
    assert indices.shape[2] % _BLOCK == 0, "topk must be a multiple of 64"
    out = torch.zeros(len(q), 1, q.shape[2], 512, dtype=torch.bfloat16)
    lse = torch.full((len(q), q.shape[2], 1), math.inf)
    for i in range(len(q)):
        slots = indices[i, 0][indices[i, 0] != -1].long()
        if len(slots) == 0:
            continue
        rows = k_cache[slots // k_cache.shape[1], slots % k_cache.shape[1], 0]
        value, logarithm = _row(q[i, 0].float(), _keys(rows), softmax_scale)
        if attn_sink is not None:
            value = value * torch.sigmoid(logarithm - attn_sink)[:, None]
        out[i, 0] = value.bfloat16()
        lse[i, :, 0] = logarithm
    return out, lse


def _keys(rows):
    codes = rows[:, :512].view(torch.float8_e4m3fn).bfloat16()
    scales = rows[:, 512:528].contiguous().view(torch.float32).bfloat16()
    latent = codes * scales.repeat_interleave(128, dim=1)
    rope = rows[:, 528:].contiguous().view(torch.bfloat16)
    return torch.cat([latent, rope], dim=1).float()


def _row(q, keys, softmax_scale):
    scores = q @ keys.T * (softmax_scale * math.log2(math.e))
    top = torch.full((len(q), 1), -math.inf)
    total = torch.zeros(len(q), 1)
    mixed = torch.zeros(len(q), 512)
    for at in range(0, keys.shape[0], _BLOCK):
        block = scores[:, at : at + _BLOCK]
        new = torch.maximum(top, block.amax(dim=1, keepdim=True))
        rescale = torch.exp2(top - new)
        weights = torch.exp2(block - new)
        total = total * rescale + weights.sum(dim=1, keepdim=True)
        rounded = weights.bfloat16().float()
        mixed = mixed * rescale + rounded @ keys[at : at + _BLOCK, :512]
        top = new
    return mixed / total, ((top + torch.log2(total)) * math.log(2))[:, 0]
