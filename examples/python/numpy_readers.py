"""A gather, an index conversion and a sparse decode over fp8_ds_mla rows in
numpy, to copy from. For each a wrong twin, python:numpy_readers.py:NAME."""

import numpy as np

description = """
    name: 'numpy readers'
    contract { arithmetic {
      dequantised: DEQUANTISED_FP32 query: QUERY_BF16 weights: WEIGHTS_FP32
      accumulator: IEEE_FP32 denormals: DENORMALS_KEPT } }
"""


def _code_values():
    code = np.arange(256)
    exponent, mantissa = code >> 3 & 15, code & 7
    value = np.where(
        exponent == 0, mantissa * 2.0**-9, (8 + mantissa) * 2.0 ** (exponent - 10)
    )
    value[code & 127 == 127] = np.nan
    return np.where(code < 128, value, -value).astype(np.float32)


CODES = _code_values()


def from_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def to_bf16(x):
    bits = np.ascontiguousarray(x).view(np.uint32)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(x), 0x7FFF, rounded).astype(np.uint16)


def latent(rows):  # uint8 [n, 656] to float32 [n, 512]
    scales = np.ascontiguousarray(rows[:, 512:528]).view(np.float32)
    return CODES[rows[:, :512]] * np.repeat(scales, 128, axis=1)


def rope_bits(rows):
    return np.ascontiguousarray(rows[:, 528:]).view(np.uint16)


@np.errstate(all="ignore")
def gather(
    cache, dst, block_table, workspace_starts, seq_lens, seq_starts, nope
):
    page_size = cache.shape[1]
    ends = np.append(workspace_starts[1:], dst.shape[0])
    for request, start in enumerate(workspace_starts):
        start = min(start, dst.shape[0])
        count = ends[request] - start if seq_lens is None else seq_lens[request]
        count = max(0, min(count, dst.shape[0] - start))
        token = np.arange(count) + (0 if seq_starts is None else seq_starts[request])
        rows = cache[block_table[request, token // page_size], token % page_size]
        dst[start : start + count, :512] = to_bf16(latent(rows))
        dst[start : start + count, 512:] = 0 if nope else rope_bits(rows)


def convert(
    request_ids, block_table, token_indices, out, valid_count, page_size
):
    column = token_indices // page_size
    valid = (token_indices >= 0) & (column < block_table.shape[1])
    page = block_table[request_ids[:, None], np.where(valid, column, 0)]
    slot = page * np.int32(page_size) + token_indices % page_size
    out[...] = np.where(valid, slot, -1)
    if valid_count is not None:
        valid_count[...] = valid.sum(axis=1)


@np.errstate(all="ignore")
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
    log2_e = np.float32(np.log2(np.e))
    for query in range(q.shape[0]):
        slots = indices[query]
        if lengths is not None:
            slots = slots[: max(0, lengths[query])]
        slots = slots[slots >= 0]
        rows = cache[slots // cache.shape[1], slots % cache.shape[1]]
        keys = np.concatenate([latent(rows), from_bf16(rope_bits(rows))], axis=1)
        for head in range(q.shape[1]):
            x = from_bf16(q[query, head])
            sink = np.float32(-np.inf) if sinks is None else sinks[head] * log2_e
            logits = (keys[:, : len(x)] * x).sum(axis=1, dtype=np.float32)
            logits = logits * np.float32(softmax_scale) * log2_e
            if len(slots) == 0:
                out[query, head] = 0
                lse[query, head] = sink
                continue
            top = np.maximum(logits.max(), sink, dtype=np.float32)
            weights = np.exp2(logits - top)
            total = weights.sum(dtype=np.float32)
            total += np.exp2(sink - top) if sink != top else np.float32(1)
            value = (weights[:, None] * keys[:, :512]).sum(axis=0, dtype=np.float32)
            out[query, head] = to_bf16(value / total)
            lse[query, head] = top + np.log2(total)


class StaleTail:
    """A gather that hands the reserved bytes of rows without rope on."""

    description = description

    def gather(self, nope, **arguments):
        gather(nope=False, **arguments)


class OneColumnMore:
    """A conversion that is off by one where the table ends."""

    description = description

    def convert(self, block_table, **arguments):
        wider = np.concatenate([block_table, block_table[:, -1:]], axis=1)
        convert(block_table=wider, **arguments)


class NaturalLse:
    """A decode whose LSE is to the base e."""

    description = description

    def decode(self, lse, **arguments):
        decode(lse=lse, **arguments)
        lse *= np.float32(np.log(2))
