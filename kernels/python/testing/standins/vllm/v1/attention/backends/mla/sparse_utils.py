"""Of the stand-in for vLLM."""

import torch


def triton_convert_req_index_to_global_index(
    req_id: torch.Tensor,
    block_table: torch.Tensor,
    token_indices: torch.Tensor,
    BLOCK_SIZE: int = 64,
    NUM_TOPK_TOKENS: int = 2048,
    BLOCK_N: int = 128,
    HAS_PREFILL_WORKSPACE: bool = False,
    prefill_workspace_request_ids: torch.Tensor | None = None,
    prefill_workspace_starts: torch.Tensor | None = None,
    return_valid_counts: bool = False,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    assert not HAS_PREFILL_WORKSPACE, "no stand-in for the prefill workspace"
    assert token_indices.shape[1] == NUM_TOPK_TOKENS
    assert NUM_TOPK_TOKENS % BLOCK_N == 0, (
        f"NUM_TOPK_TOKENS ({NUM_TOPK_TOKENS}) must be divisible by BLOCK_N ({BLOCK_N})"
    )
    assert len(req_id) == len(token_indices), (
        f"{len(req_id)} request ids for {len(token_indices)} tokens"
    )
    column = torch.div(token_indices, BLOCK_SIZE, rounding_mode="floor")
    valid = (token_indices >= 0) & (column < block_table.shape[1])
    column = torch.where(valid, column, 0)
    page = block_table[req_id.long()[:, None], column.long()]
    slot = page * BLOCK_SIZE + token_indices % BLOCK_SIZE
    out = torch.where(valid, slot, -1).int()
    return (out, valid.sum(dim=1).int()) if return_valid_counts else out
