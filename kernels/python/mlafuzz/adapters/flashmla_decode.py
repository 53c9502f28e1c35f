"""FlashMLA's sparse decode on 656-byte rows, as on sm_90.
flash_mla/flash_mla_interface.py, csrc/sm90/decode/sparse_fp8 @9241ae3e."""

import mlafuzz
from mlafuzz.adapters import needed, refusing, torch

_WHAT = "FlashMLA with sparse decode of FP8 caches and attn_sink, as @9241ae3e"
_flash_mla_with_kvcache, _VERSION = needed(
    "flash_mla", "flash_mla_with_kvcache", _WHAT
)
_get_mla_metadata, _ = needed("flash_mla", "get_mla_metadata", _WHAT)

# Of q's heads, and of candidates.
_HEADS = (64, 128)
_WIDTH_MULTIPLE = 64

tensors = "torch"
description = mlafuzz.Target(
    name="FlashMLA sparse decode",
    version=_VERSION,
    contract={
        "qk": {"scale_rule": "SCALE_BF16"},
        "v": {"scale_rule": "SCALE_BF16"},
        "decode": {
            "mask": "MINUS_ONE_MASKED",
            "length": "LENGTH_IGNORED",
            "empty_row": "ZERO_AND_PLUS_INF",
            "lse_base": "BASE_E",
            "sink": "SINK_NOT_IN_LSE",
            "pe_dims": 64,
        },
        "arithmetic": {
            "dequantised": "DEQUANTISED_BF16",
            "query": "QUERY_BF16",
            "weights": "WEIGHTS_BF16",
            "block": 64,
            "partials": "PARTIALS_FP32",
            "accumulator": "MMA",
            "accumulator_bits": 26,
            "exp2_relative_error": 2.384185791015625e-07,
            "denormals": "DENORMALS_FLUSHED",
        },
    },
    devices=("HOST", "CUDA"),
).description


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
    if q.shape[1] > _HEADS[-1]:
        raise mlafuzz.Refused(f"{q.shape[1]} heads, at most {_HEADS[-1]}")
    # As vLLM's backend does: more heads, and candidates that name no key.
    heads = next(h for h in _HEADS if h >= q.shape[1])
    padded = q.new_zeros(q.shape[0], heads, q.shape[2])
    padded[:, : q.shape[1]] = q
    width = -(-max(indices.shape[1], 1) // _WIDTH_MULTIPLE) * _WIDTH_MULTIPLE
    candidates = indices.new_full((len(indices), width), -1)
    candidates[:, : indices.shape[1]] = indices
    if sinks is not None:
        sinks = torch.cat([sinks, sinks.new_zeros(heads - len(sinks))])
    result, result_lse = refusing(
        _flash_mla_with_kvcache,
        q=padded[:, None],
        k_cache=cache[:, :, None],
        block_table=None,
        cache_seqlens=None,
        head_dim_v=512,
        tile_scheduler_metadata=_get_mla_metadata()[0],
        softmax_scale=softmax_scale,
        is_fp8_kvcache=True,
        indices=candidates[:, None],
        attn_sink=sinks,
    )
    return result[:, 0, : q.shape[1]], result_lse[:, : q.shape[1], 0]
