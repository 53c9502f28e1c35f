"""vLLM's concat_and_cache_mla with kv_cache_dtype="fp8_ds_mla".

The module: scales as computed. Pow2: the generation after vLLM #49435, whose
scales are powers of two. csrc/libtorch_stable/cache_kernels.cu @00eb0c87.
"""

import mlafuzz
from mlafuzz.adapters import needed, refusing, torch

_concat_and_cache_mla, _VERSION = needed(
    "vllm._custom_ops",
    "concat_and_cache_mla",
    "vLLM 0.11 or later, the first with the format fp8_ds_mla",
)

_RULES = """
    pe_dims: 64 fp16_amax: FP16_RAW_BITS zero_tokens: ZERO_TOKENS_LAUNCH_ERROR
    host_checks: [WRITER_CHECK_LATENT_DIM, WRITER_CHECK_PE_DIM,
                  WRITER_CHECK_ROW_BYTES, WRITER_CHECK_INPUT_DTYPE]
"""
_POW2 = "scale: POW2_CEIL floor: FLOOR_ON_SCALE floor_bits: 0x38d1b717"


def write(kv_c, k_pe, slot_mapping, cache):
    if k_pe is None:  # for the check of pe_dim
        k_pe = kv_c[:, :0]
    refusing(
        _concat_and_cache_mla,
        kv_c=kv_c,
        k_pe=k_pe,
        kv_cache=cache,
        slot_mapping=slot_mapping,
        kv_cache_dtype="fp8_ds_mla",
        # Not used for this format.
        scale=torch.ones(1, device=kv_c.device),
    )


def _target(name, rules):
    return mlafuzz.Target(
        name=f"vLLM concat_and_cache_mla{name}",
        version=_VERSION,
        contract=f"writer {{ {rules} }}",
        devices=("HOST", "CUDA"),
        tensors="torch",
        write=write,
    )


description = _target("", _RULES).description
tensors = "torch"
Pow2 = _target(", powers of two", _RULES + _POW2)
