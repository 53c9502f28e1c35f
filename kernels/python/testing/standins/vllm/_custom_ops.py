"""Of the stand-in for vLLM."""

import os

import torch

# The generation whose scales are powers of two (vLLM #49435).
_POW2 = os.environ.get("MLAFUZZ_STANDIN_POW2") == "1"


def _check(holds, text):
    if not holds:
        raise RuntimeError(text)


def concat_and_cache_mla(
    kv_c: torch.Tensor,
    k_pe: torch.Tensor,
    kv_cache: torch.Tensor,
    slot_mapping: torch.Tensor,
    kv_cache_dtype: str,
    scale: torch.Tensor,
) -> None:
    _check(kv_cache_dtype == "fp8_ds_mla", f"no stand-in for {kv_cache_dtype}")
    _check(kv_c.shape[1] == 512, f"kv_lora_rank must be 512, got {kv_c.shape[1]}")
    _check(k_pe.shape[1] == 64, f"pe_dim must be 64, got {k_pe.shape[1]}")
    _check(kv_cache.shape[2] == 656, f"rows must be 656 bytes: {kv_cache.shape}")
    _check(kv_c.element_size() == 2, f"kv_c must be of 16 bits, got {kv_c.dtype}")
    _check(k_pe.element_size() == 2, f"k_pe must be of 16 bits, got {k_pe.dtype}")
    _check(len(slot_mapping) > 0, "CUDA error: invalid configuration argument")
    kept = torch.nonzero(slot_mapping >= 0).flatten()
    tiles = kv_c[kept].reshape(-1, 4, 128)
    if kv_c.dtype == torch.float16:  # the patterns, taken as integers
        magnitude = (tiles.view(torch.int16).int() & 0xFFFF).float()
    else:
        magnitude = torch.where(tiles.isnan(), 0.0, tiles.float().abs())
    scales = magnitude.amax(dim=2) / torch.full((), 448.0)
    if _POW2:
        exponent = torch.frexp(scales.clamp(min=1e-4))
        # A mantissa of exactly 1/2 is a power of two already.
        up = exponent.exponent - (exponent.mantissa == 0.5).int()
        finite = torch.ldexp(torch.ones_like(scales), up)
        scales = torch.where(scales.isfinite(), finite, scales)
    else:
        scales = scales.clamp(min=2**-126)
    values = tiles.float() / scales[:, :, None]
    codes = values.clamp(-448, 448).to(torch.float8_e4m3fn).view(torch.uint8)
    rows = torch.zeros(len(kept), 656, dtype=torch.uint8)
    rows[:, :512] = torch.where(values.isnan(), 0x7F, codes).reshape(-1, 512)
    rows[:, 512:528] = scales.view(torch.uint8)
    rows[:, 528:] = k_pe[kept].contiguous().view(torch.uint8)
    slots = slot_mapping[kept]
    page_size = kv_cache.shape[1]
    kv_cache[slots // page_size, slots % page_size] = rows


def cp_gather_and_upconvert_fp8_kv_cache(
    src_cache: torch.Tensor,
    dst: torch.Tensor,
    block_table: torch.Tensor,
    workspace_starts: torch.Tensor,
    batch_size: int,
    seq_starts: torch.Tensor | None = None,
) -> None:
    _check(dst.dtype == torch.bfloat16, f"dst must be bfloat16, got {dst.dtype}")
    _check(dst.shape[1] == 576, f"dst must have 576 columns, got {dst.shape[1]}")
    page_size = src_cache.shape[1]
    starts = [min(start, len(dst)) for start in workspace_starts.tolist()]
    ends = starts[1:] + [len(dst)]
    for request in range(batch_size):
        start = starts[request]
        token = torch.arange(max(0, ends[request] - start))
        if seq_starts is not None:
            token += seq_starts[request]
        pages = block_table[request, token // page_size].long()
        rows = src_cache[pages, token % page_size]
        codes = rows[:, :512].view(torch.float8_e4m3fn).float()
        scales = rows[:, 512:528].contiguous().view(torch.float32)
        values = (codes * scales.repeat_interleave(128, dim=1)).bfloat16()
        part = dst[start : start + len(token)]
        part[:, :512] = values
        # A NaN as the hardware converts it.
        part[:, :512].view(torch.int16)[values.isnan()] = 0x7FFF
        part[:, 512:].view(torch.int16).copy_(
            rows[:, 528:].contiguous().view(torch.int16)
        )
