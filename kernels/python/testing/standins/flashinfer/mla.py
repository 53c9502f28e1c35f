"""Of the stand-in for FlashInfer: the sparse backend on 656-byte rows."""

import math

import torch

_BLOCK = 64
# Of a masked candidate: nothing beside a key, and weight 1 where there is none.
_MASKED_SCORE = -1e30


def trtllm_batch_decode_with_kv_cache_mla(
    query,
    kv_cache,
    workspace_buffer,
    qk_nope_head_dim,
    kv_lora_rank,
    qk_rope_head_dim,
    block_tables,
    seq_lens,
    max_seq_len,
    sparse_mla_top_k=0,
    out=None,
    bmm1_scale=1.0,
    bmm2_scale=1.0,
    sinks=None,
    skip_softmax_threshold_scale_factor=None,
    enable_pdl=None,
    backend="auto",
    is_var_seq=True,
    uses_shared_paged_kv_idx=True,
    lse=None,
    return_lse=False,
    cute_dsl_impl="auto",
    kv_scale_format="auto",
):
    if backend != "sparse" or bmm2_scale != 1.0 or out is not None:
        raise ValueError("no stand-in for this call")
    if qk_rope_head_dim != 64:
        raise ValueError(f"Expected qk_rope_head_dim == 64, got {qk_rope_head_dim}")
    shape = (*query.shape[:2], sparse_mla_top_k)
    if tuple(block_tables.shape) != shape:
        raise ValueError(
            f"expects sparse block_tables shape {shape}, got "
            f"{tuple(block_tables.shape)}"
        )
    two_pass = {"pow2_fp32": False, "auto": False, "arbitrary_fp32": True}
    rows = _Rows(kv_cache, two_pass[kv_scale_format])
    out = torch.empty(*query.shape[:3], 512, dtype=torch.bfloat16)
    lse = torch.empty(*query.shape[:3])
    for i in range(len(query)):
        candidates = block_tables[i, 0]
        live = candidates >= 0
        if seq_lens is not None:
            live &= torch.arange(len(candidates)) < seq_lens.flatten()[i]
        value, logarithm = rows.attend(
            query[i, 0], candidates, live, bmm1_scale * math.log2(math.e)
        )
        if sinks is not None:
            value, logarithm = _with_sink(value, logarithm, sinks * math.log2(math.e))
        out[i, 0], lse[i, 0] = value.bfloat16(), logarithm
    return (out, lse.flatten(0, 1)) if return_lse else out


def _with_sink(value, logarithm, sink):
    top = torch.maximum(logarithm, sink)
    own = torch.where(logarithm == top, 1.0, torch.exp2(logarithm - top))
    rest = torch.where(sink == top, 1.0, torch.exp2(sink - top))
    own = torch.where(logarithm == -math.inf, 0.0, own)
    rest = torch.where(sink == -math.inf, 0.0, rest)
    total = own + rest
    weight = torch.where(total == 0, 0.0, own / total)
    return value * weight[:, None], top + torch.log2(total)


def _e4m3(x):
    return x.clamp(-448, 448).to(torch.float8_e4m3fn).float()


def _pow2_up(x):
    mantissa, exponent = torch.frexp(x)
    return torch.ldexp(torch.ones_like(x), exponent - (mantissa == 0.5).int())


class _Rows:
    def __init__(self, cache, two_pass):
        self._cache = cache
        self._two_pass = two_pass

    def attend(self, query, candidates, live, scale_log2):
        heads = len(query)
        tiles = query[:, :512].float().reshape(heads, 4, 128)
        q_scale = _pow2_up(tiles.abs().amax(dim=2).clamp(min=1e-4) / 448)
        codes = _e4m3(tiles / q_scale[:, :, None])
        partials, logarithms = [], []
        for at in range(0, len(candidates), _BLOCK):
            part = slice(at, at + _BLOCK)
            slots = torch.where(live[part], candidates[part], 0).long()
            keys = self._keys(slots)
            scores = self._scores(codes, q_scale, query[:, 512:].float(), keys)
            scores = torch.where(live[part], scores * scale_log2, _MASKED_SCORE)
            top = scores.amax(dim=1, keepdim=True)
            weights = torch.exp2(scores - top)
            total = weights.sum(dim=1, keepdim=True)
            value = self._mixed(weights, keys) / total
            partials.append(value.bfloat16().float())
            logarithms.append(top + torch.log2(total))
        logarithm = torch.cat(logarithms, dim=1)
        top = logarithm.amax(dim=1, keepdim=True)
        weights = torch.exp2(logarithm - top)
        total = weights.sum(dim=1, keepdim=True)
        value = sum(w[:, None] * p for w, p in zip(weights.T, partials)) / total
        return value, (top + torch.log2(total))[:, 0]

    def _keys(self, slots):
        page_size = self._cache.shape[1]
        rows = self._cache[slots // page_size, slots % page_size]
        codes = rows[:, :512].view(torch.float8_e4m3fn).float().reshape(-1, 4, 128)
        scales = rows[:, 512:528].contiguous().view(torch.float32)
        rope = rows[:, 528:].contiguous().view(torch.bfloat16).float()
        return codes, scales, rope

    def _scores(self, q_codes, q_scale, q_rope, keys):
        codes, scales, rope = keys
        if not self._two_pass:  # the exponent alone
            scales = (scales.view(torch.int32) & 0x7F800000).view(torch.float32)
        dots = torch.einsum("htd,ktd->hkt", q_codes, codes)
        return (dots * q_scale[:, None] * scales).sum(dim=2) + q_rope @ rope.T

    def _mixed(self, weights, keys):
        codes, scales, _ = keys
        exact = weights[:, None] * scales.T  # [heads, tiles, keys]
        scale = exact.abs().amax(dim=2, keepdim=True).clamp(min=1e-10) / 448
        rounded = _e4m3(exact / scale)
        if self._two_pass:
            rounded = rounded + _e4m3(exact / scale - rounded)
        return (torch.einsum("htk,ktd->htd", rounded, codes) * scale).flatten(1)
