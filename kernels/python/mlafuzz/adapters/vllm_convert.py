"""vLLM's triton_convert_req_index_to_global_index.
vllm/v1/attention/backends/mla/sparse_utils.py @02a26fa0."""

import mlafuzz
from mlafuzz.adapters import needed, refusing

_convert, _VERSION = needed(
    "vllm.v1.attention.backends.mla.sparse_utils",
    "triton_convert_req_index_to_global_index",
    "a vLLM with vllm/v1/attention/backends/mla/sparse_utils.py, as @02a26fa0",
)

tensors = "torch"
description = mlafuzz.Target(
    name="vLLM triton_convert_req_index_to_global_index",
    version=_VERSION,
    contract={
        "convert": {
            "width_multiple": 128,
            "host_checks": ["CONVERT_CHECK_WIDTH", "CONVERT_CHECK_TOKENS"],
        }
    },
    devices=("HOST", "CUDA"),
).description


def convert(request_ids, block_table, token_indices, out, valid_count, page_size):
    return refusing(
        _convert,
        req_id=request_ids,
        block_table=block_table,
        token_indices=token_indices,
        BLOCK_SIZE=page_size,
        NUM_TOPK_TOKENS=token_indices.shape[1],
        return_valid_counts=valid_count is not None,
    )
