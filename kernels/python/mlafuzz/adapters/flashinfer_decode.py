"""FlashInfer's trtllm_batch_decode_with_kv_cache_mla(backend="sparse") on
656-byte rows, as on sm_120.

Pow2: kv_scale_format="pow2_fp32", which reads a scale's exponent alone for the
logits. Arbitrary: "arbitrary_fp32". decode_dsv3_2_kernel.cuh @fb28d724.
"""

import functools

import mlafuzz
from mlafuzz.adapters import needed, refusing, torch

_decode, _VERSION = needed(
    "flashinfer.mla",
    "trtllm_batch_decode_with_kv_cache_mla",
    'FlashInfer 0.6.18 or later, with backend="sparse" and kv_scale_format',
)

# Scratch of the kernel, which it sets aside itself where this is too small.
_WORKSPACE_BYTES = 128 << 20


@functools.cache
def _workspace(device):
    return torch.zeros(_WORKSPACE_BYTES, dtype=torch.uint8, device=device)


def _decoded(
    kv_scale_format,
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
    # One query a batch entry: its length is then that of its row of indices.
    result, result_lse = refusing(
        _decode,
        query=q[:, None],
        kv_cache=cache,
        workspace_buffer=_workspace(q.device),
        qk_nope_head_dim=128,
        kv_lora_rank=512,
        qk_rope_head_dim=q.shape[2] - 512,
        block_tables=indices[:, None],
        seq_lens=lengths,
        max_seq_len=indices.shape[1],
        sparse_mla_top_k=indices.shape[1],
        bmm1_scale=softmax_scale,
        bmm2_scale=1.0,
        sinks=sinks,
        backend="sparse",
        return_lse=True,
        kv_scale_format=kv_scale_format,
    )
    return result[:, 0], result_lse.reshape(lse.shape)


def _target(kv_scale_format, rule, weights):
    return mlafuzz.Target(
        name=f"FlashInfer sparse decode, {kv_scale_format}",
        version=_VERSION,
        contract={
            "qk": {"scale_rule": rule},
            "v": {"scale_rule": "SCALE_RAW"},
            "decode": {
                "masked_lanes": "MASKED_READ_SLOT0",
                "empty_row": "UNIT_WEIGHTS",
                "pe_dims": 64,
            },
            "arithmetic": {
                "dequantised": "DEQUANTISED_CODES",
                "query": "QUERY_E4M3",
                "weights": weights,
                "block": 64,
                "partials": "PARTIALS_BF16",
                "accumulator": "MMA",
            },
        },
        devices=("HOST", "CUDA"),
        tensors="torch",
        decode=functools.partial(_decoded, kv_scale_format),
    )


Pow2 = _target("pow2_fp32", "SCALE_POW2_FLOOR", "WEIGHTS_E4M3")
Arbitrary = _target("arbitrary_fp32", "SCALE_RAW", "WEIGHTS_E4M3_TWO_PASS")
