#include "oracle/changed_call.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "oracle/convert_index.h"
#include "oracle/tensor_view.h"

namespace mlafuzz::oracle {
namespace {

bool SetStride(ChangedCall& call, TensorId id, std::int64_t stride) {
  Tensor* tensor = call.Find(id);
  if (tensor == nullptr || tensor->shape[0] < 2 ||
      tensor->strides[0] == stride) {
    return false;
  }
  tensor->strides[0] = stride;
  return true;
}

template <TensorId kId>
bool DenseRows(ChangedCall& call) {
  const Tensor* tensor = call.Find(kId);
  return tensor != nullptr && SetStride(call, kId, tensor->shape[1]);
}

bool DensePages(ChangedCall& call) {
  const std::int64_t dense =
      call.pool().split() ? call.pool().page_bytes()
                          : call.pool().page_size * call.pool().row_stride;
  return call.pool().pages > 1 &&
         std::exchange(call.pool().page_stride, dense) != dense;
}

// Tokens one behind another, each with all of its bytes, in a page that has
// some of them behind all rows.
bool ScalesInline(ChangedCall& call) {
  PoolImage& pool = call.pool();
  if (!pool.split() || pool.page_size < 2) return false;
  pool.row_part = pool.row_bytes;
  pool.row_stride = pool.row_bytes;
  return true;
}

bool DensePoolRows(ChangedCall& call) {
  if (call.pool().split()) return false;
  const std::int64_t dense = call.pool().row_bytes;
  return call.pool().page_size > 1 &&
         std::exchange(call.pool().row_stride, dense) != dense;
}

bool FirstTableRow(ChangedCall& call) {
  return SetStride(call, TensorId::kBlockTable, 0);
}

bool FirstSourceRow(ChangedCall& call) {
  return SetStride(call, TensorId::kKvC, 0);
}

template <TensorId kId>
bool Without(ChangedCall& call) {
  if (call.Find(kId) == nullptr) return false;
  call.Drop(kId);
  return true;
}

template <TensorId kId>
bool OneLess(ChangedCall& call) {
  Tensor* tensor = call.Find(kId);
  return tensor != nullptr && tensor->shape[0] > 1 && tensor->shape[0]-- > 1;
}

bool NeverRope(ChangedCall& call) {
  if (call.step.gather().nope()) return false;
  call.step.mutable_gather()->set_nope(true);
  return true;
}

// With as many rows of the table as of tokens, or more.
bool RowForRequest(ChangedCall& call) {
  Tensor* ids = call.Find(TensorId::kRequestIds);
  const Tensor* table = call.Find(TensorId::kBlockTable);
  if (ids == nullptr || table == nullptr) return false;
  const std::int32_t rows =
      static_cast<std::int32_t>(std::min(ids->shape[0], table->shape[0]));
  if (rows < ids->shape[0]) return false;
  bool changed = false;
  for (std::int32_t row = 0; row < rows; ++row) {
    std::uint8_t* id = ids->bytes.data() + 4 * row * ids->strides[0];
    changed |= LoadBytes<std::int32_t>(id) != row;
    std::memcpy(id, &row, 4);
  }
  return changed;
}

bool FirstPrefillByTable(ChangedCall& call) {
  if (call.contract.convert().workspace() !=
      ConvertContract::WORKSPACE_WITHIN_TABLE) {
    return false;
  }
  Tensor* ids = call.Find(TensorId::kPrefillIds);
  if (ids == nullptr) return false;
  bool changed = false;
  constexpr std::int32_t kNone = -1;
  for (std::int64_t row = 0; row < ids->shape[0]; ++row) {
    std::uint8_t* id = ids->bytes.data() + 4 * row * ids->strides[0];
    if (LoadBytes<std::int32_t>(id) != 0) continue;
    std::memcpy(id, &kNone, 4);
    changed = true;
  }
  return changed;
}

// The product of page and page size wraps in int32; where it is negative then,
// the token names no slot.
bool SlotWrapsThenChecked(ChangedCall& call) {
  ConvertContract& rules = *call.contract.mutable_convert();
  if (rules.pages() != ConvertContract::PAGES_FITTING) return false;
  rules.set_pages(ConvertContract::PAGES_WRAPPED);
  Tensor* tokens = call.Find(TensorId::kTokenIndices);
  const Storage<std::int32_t> request_of(call.Find(TensorId::kRequestIds));
  if (tokens == nullptr) return false;
  const IndexConverter converter(rules, call.pool(), call.made());
  constexpr std::int32_t kNone = -1;
  bool wraps = false;
  for (std::int64_t row = 0; row < tokens->shape[0]; ++row) {
    if (!request_of.Has(row)) continue;
    for (std::int64_t i = 0; i < tokens->shape[1]; ++i) {
      std::uint8_t* token =
          tokens->bytes.data() + 4 * (row * tokens->strides[0] + i);
      const ConvertedIndex index = converter.Convert(
          row, request_of[row], LoadBytes<std::int32_t>(token));
      if (index.kind != ConvertedIndex::Kind::kSlot || index.in_workspace) {
        continue;
      }
      const auto slot =
          static_cast<std::int32_t>(static_cast<std::uint32_t>(index.slot));
      wraps |= slot != index.slot;
      if (index.page < 0 || slot < 0) std::memcpy(token, &kNone, 4);
    }
  }
  return wraps;
}

constexpr CallChange kChanges[] = {
    {Kernel::kWriter, "dense-pages", "takes pages of the pool to be dense",
     DensePages},
    {Kernel::kWriter, "dense-rows", "takes rows of a page to be dense",
     DensePoolRows},
    {Kernel::kWriter, "dense-kv_c", "takes rows of kv_c to be dense",
     DenseRows<TensorId::kKvC>},
    {Kernel::kWriter, "dense-k_pe", "takes rows of k_pe to be dense",
     DenseRows<TensorId::kKPe>},
    {Kernel::kWriter, "first-source-row",
     "takes the first row of kv_c for every token", FirstSourceRow},
    {Kernel::kWriter, "scales-inline",
     "stores a token's scales behind its codes, not behind those of the page",
     ScalesInline},
    {Kernel::kGather, "scales-inline",
     "reads a token's scales behind its codes, not behind those of the page",
     ScalesInline},
    {Kernel::kGather, "dense-pages", "takes pages of the pool to be dense",
     DensePages},
    {Kernel::kGather, "dense-rows", "takes rows of a page to be dense",
     DensePoolRows},
    {Kernel::kGather, "dense-dst", "takes rows of dst to be dense",
     DenseRows<TensorId::kDst>},
    {Kernel::kGather, "first-table-row",
     "reads the block table of the first request for all", FirstTableRow},
    {Kernel::kGather, "seq_starts-ignored", "ignores seq_starts",
     Without<TensorId::kSeqStarts>},
    {Kernel::kGather, "seq_lens-ignored", "ignores seq_lens",
     Without<TensorId::kSeqLens>},
    {Kernel::kGather, "rope-cleared",
     "takes rows that carry rope for rows without", NeverRope},
    {Kernel::kConvert, "dense-token_indices",
     "takes rows of token_indices to be dense",
     DenseRows<TensorId::kTokenIndices>},
    {Kernel::kConvert, "dense-out", "takes rows of out to be dense",
     DenseRows<TensorId::kOut>},
    {Kernel::kConvert, "first-table-row",
     "reads the block table of the first request for all", FirstTableRow},
    {Kernel::kConvert, "row-for-request",
     "reads the block table of a token's row, not of its request",
     RowForRequest},
    {Kernel::kConvert, "last-row-missing", "leaves out the last row",
     OneLess<TensorId::kTokenIndices>},
    {Kernel::kConvert, "first-prefill-by-table",
     "takes rows of prefill request 0 for those of a decode",
     FirstPrefillByTable, /*narrowed=*/true},
    {Kernel::kConvert, "slot-wraps-then-checked",
     "multiplies page and page size in int32 and takes for invalid what is "
     "negative then, not what does not fit",
     SlotWrapsThenChecked, /*narrowed=*/true},
};

}  // namespace

void ChangedCall::Drop(TensorId id) {
  auto& tensors = made().tensors;
  tensors.erase(std::remove_if(tensors.begin(), tensors.end(),
                               [id](const Tensor& t) { return t.id == id; }),
                tensors.end());
}

absl::Span<const CallChange> CallChanges() { return kChanges; }

}  // namespace mlafuzz::oracle
