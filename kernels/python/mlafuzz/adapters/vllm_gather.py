"""vLLM's cp_gather_and_upconvert_fp8_kv_cache: the older generation, with
lengths of its own, or the newer, whose lengths follow from the starts; its
signature says which. csrc/libtorch_stable/cache_kernels.cu @37cb21c1, @00eb0c87.
"""

import inspect

import mlafuzz
from mlafuzz.adapters import needed, refusing

_gather, _VERSION = needed(
    "vllm._custom_ops",
    "cp_gather_and_upconvert_fp8_kv_cache",
    "a vLLM whose sparse MLA backend upconverts pages, as that of "
    "csrc/libtorch_stable/cache_kernels.cu @37cb21c1 or later",
)
_TAKES_LENGTHS = "seq_lens" in inspect.signature(_gather).parameters

tensors = "torch"
description = mlafuzz.Target(
    name="vLLM cp_gather_and_upconvert_fp8_kv_cache",
    version=_VERSION,
    contract={
        "gather": {
            "lengths": "SEQ_LENS" if _TAKES_LENGTHS else "FROM_STARTS",
            "nope_tail": "NOPE_TAIL_VERBATIM",
            "host_checks": ["GATHER_CHECK_DST_COLUMNS", "GATHER_CHECK_DST_DTYPE"],
        }
    },
    devices=("HOST", "CUDA"),
).description


def gather(cache, dst, block_table, workspace_starts, seq_lens, seq_starts, nope):
    arguments = {
        "src_cache": cache,
        "dst": dst,
        "block_table": block_table,
        "workspace_starts": workspace_starts,
        "batch_size": len(workspace_starts),
    }
    if _TAKES_LENGTHS:
        if seq_starts is not None:  # it has no such argument
            raise mlafuzz.Skip
        arguments["seq_lens"] = seq_lens
    else:
        arguments["seq_starts"] = seq_starts
    refusing(_gather, **arguments)
