#include "oracle/other_reading.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "oracle/convert_index.h"
#include "oracle/expect.h"
#include "oracle/layout.h"
#include "oracle/tensor_view.h"
#include "oracle/token_place.h"
#include "oracle/write_plan.h"

namespace mlafuzz::oracle {
namespace {

// ----------------------------------------------------------------------- Calls

// One step alone, with arguments and rules that can be changed.
struct Call {
  Contract contract;
  CaseImage image;
  Step step;

  // `of` comes of a case.
  Call(const Contract& rules, const CaseImage& from, const StepImage& of)
      : contract(rules), step(*of.step) {
    image.pool = from.pool;
    image.steps = {of};
    image.steps[0].step = &step;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  PoolImage& pool() { return image.pool; }
  StepImage& made() { return image.steps[0]; }
  Tensor* Find(TensorId id) { return made().Find(id); }
  void Drop(TensorId id) {
    auto& tensors = made().tensors;
    tensors.erase(std::remove_if(tensors.begin(), tensors.end(),
                                 [id](const Tensor& t) { return t.id == id; }),
                  tensors.end());
  }
};

// True if it changed anything.
using Change = bool (*)(Call&);

bool SetStride(Call& call, TensorId id, std::int64_t stride) {
  Tensor* tensor = call.Find(id);
  if (tensor == nullptr || tensor->shape[0] < 2 ||
      tensor->strides[0] == stride) {
    return false;
  }
  tensor->strides[0] = stride;
  return true;
}

template <TensorId kId>
bool DenseRows(Call& call) {
  const Tensor* tensor = call.Find(kId);
  return tensor != nullptr && SetStride(call, kId, tensor->shape[1]);
}

bool DensePages(Call& call) {
  const std::int64_t dense =
      call.pool().split() ? call.pool().page_bytes()
                          : call.pool().page_size * call.pool().row_stride;
  return call.pool().pages > 1 &&
         std::exchange(call.pool().page_stride, dense) != dense;
}

// Tokens one behind another, each with all of its bytes, in a page that has
// some of them behind all rows.
bool ScalesInline(Call& call) {
  PoolImage& pool = call.pool();
  if (!pool.split() || pool.page_size < 2) return false;
  pool.row_part = pool.row_bytes;
  pool.row_stride = pool.row_bytes;
  return true;
}

bool DensePoolRows(Call& call) {
  if (call.pool().split()) return false;
  const std::int64_t dense = call.pool().row_bytes;
  return call.pool().page_size > 1 &&
         std::exchange(call.pool().row_stride, dense) != dense;
}

bool FirstTableRow(Call& call) {
  return SetStride(call, TensorId::kBlockTable, 0);
}

bool FirstSourceRow(Call& call) { return SetStride(call, TensorId::kKvC, 0); }

template <TensorId kId>
bool Without(Call& call) {
  if (call.Find(kId) == nullptr) return false;
  call.Drop(kId);
  return true;
}

template <TensorId kId>
bool OneLess(Call& call) {
  Tensor* tensor = call.Find(kId);
  return tensor != nullptr && tensor->shape[0] > 1 && tensor->shape[0]-- > 1;
}

bool NeverRope(Call& call) {
  if (call.step.gather().nope()) return false;
  call.step.mutable_gather()->set_nope(true);
  return true;
}

// With as many rows of the table as of tokens, or more.
bool RowForRequest(Call& call) {
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

bool FirstPrefillByTable(Call& call) {
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
bool SlotWrapsThenChecked(Call& call) {
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

struct NamedChange {
  Kernel kernel;
  const char* key;
  const char* words;
  Change change;
  bool narrowed = false;  // NarrowedRules()
};

constexpr NamedChange kChanges[] = {
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

// ------------------------------------------------------------------------ Rows

// Changes one row of the layout in place.
using RowChange = void (*)(const RowLayout&, std::uint8_t* row);

template <int kBy>
void RotateScales(const RowLayout& layout, std::uint8_t* row) {
  if (kBy >= layout.tiles()) return;
  std::uint8_t* scales = row + layout.scales_at;
  std::rotate(scales, scales + kBy * layout.scale_bytes,
              scales + layout.tiles() * layout.scale_bytes);
}

void TurnScales(const RowLayout& layout, std::uint8_t* row) {
  for (int tile = 0; tile < layout.tiles(); ++tile) {
    std::uint8_t* scale = row + layout.scales_at + tile * layout.scale_bytes;
    std::reverse(scale, scale + layout.scale_bytes);
  }
}

void TurnCodes(const RowLayout& layout, std::uint8_t* row) {
  for (int i = 0; i < layout.codes; i += 4) {
    std::reverse(row + layout.codes_at + i, row + layout.codes_at + i + 4);
  }
}

void SwapTiles(const RowLayout& layout, std::uint8_t* row) {
  for (int tile = 0; tile + 1 < layout.tiles(); tile += 2) {
    std::uint8_t* codes = row + layout.codes_at + tile * layout.tile;
    std::swap_ranges(codes, codes + layout.tile, codes + layout.tile);
  }
}

void SwapTilesAndScales(const RowLayout& layout, std::uint8_t* row) {
  SwapTiles(layout, row);
  for (int tile = 0; tile + 1 < layout.tiles(); tile += 2) {
    std::uint8_t* scale = row + layout.scales_at + tile * layout.scale_bytes;
    std::swap_ranges(scale, scale + layout.scale_bytes,
                     scale + layout.scale_bytes);
  }
}

void SwapRopePairs(const RowLayout& layout, std::uint8_t* row) {
  for (int i = 0; i + 1 < layout.rope; i += 2) {
    std::uint8_t* pair = row + layout.rope_at + 2 * i;
    std::swap_ranges(pair, pair + 2, pair + 2);
  }
}

void DeinterleaveRope(const RowLayout& layout, std::uint8_t* row) {
  std::vector<std::uint8_t> rope(row + layout.rope_at, row + layout.rope_end());
  for (int i = 0; i < layout.rope; ++i) {
    const int to = i / 2 + (i % 2) * (layout.rope / 2);
    std::memcpy(row + layout.rope_at + 2 * to, rope.data() + 2 * i, 2);
  }
}

struct NamedRowChange {
  const char* key;
  const char* words;
  RowChange change;
};

constexpr NamedRowChange kRowChanges[] = {
    {"scales-rotated", "has each scale in the place of another tile's",
     RotateScales<1>},
    {"scales-rotated", "has each scale in the place of another tile's",
     RotateScales<2>},
    {"scales-rotated", "has each scale in the place of another tile's",
     RotateScales<3>},
    {"scale-byte-order", "has the bytes of each scale in reverse", TurnScales},
    {"code-byte-order", "has the codes of each word in reverse", TurnCodes},
    {"tiles-swapped", "has the codes of two tiles in each other's place",
     SwapTiles},
    {"tiles-swapped", "has two tiles in each other's place",
     SwapTilesAndScales},
    {"rope-pairs-swapped", "has the values of each pair of the rope swapped",
     SwapRopePairs},
    {"rope-deinterleaved",
     "has even values of the rope in front and odd ones behind",
     DeinterleaveRope},
};

class Reader {
 public:
  Reader(const Contract& contract, const CaseImage& image, int step,
         absl::Span<const std::uint8_t> before, const Expectation& expected,
         const AfterImage& after)
      : contract_(contract),
        image_(image),
        index_(step),
        step_(image.steps[static_cast<std::size_t>(step)]),
        layout_(LayoutOf(image.pool.layout)),
        before_(before),
        expected_(expected),
        after_(after) {}

  std::vector<OtherReading> Run() {
    ByCall();
    ByRow();
    ByBytes();
    return std::move(found_);
  }

  std::vector<OtherReading> Narrowed() {
    for (const NamedChange& named : kChanges) {
      if (named.narrowed) ByCall(named);
    }
    return std::move(found_);
  }

 private:
  void Found(const char* key, std::string words) {
    for (const OtherReading& other : found_) {
      if (other.key == key) return;
    }
    found_.push_back(
        {key, absl::StrCat("the ", KernelName(step_.kernel), " ", words)});
  }

  bool Predicts(const Expectation& other) const {
    if (!other.unsettled.empty() || other.outside_writes > 0) return false;
    if (ExpectedPool(other, before_) != after_.pool) return false;
    // A change may have dropped an input: outputs are the same, in order.
    std::size_t at = 0;
    for (std::size_t i = 0; i < step_.tensors.size(); ++i) {
      if (!step_.tensors[i].output) continue;
      while (at < other.outputs.size() && other.outputs[at].empty() &&
             !after_.outputs[i].empty()) {
        ++at;
      }
      if (at >= other.outputs.size() ||
          absl::MakeConstSpan(other.outputs[at]) != after_.outputs[i]) {
        return false;
      }
      ++at;
    }
    return true;
  }

  void ByCall() {
    for (const NamedChange& named : kChanges) ByCall(named);
  }

  void ByCall(const NamedChange& named) {
    if (named.kernel != step_.kernel || step_.step == nullptr) return;
    Call call(contract_, image_, step_);
    if (!named.change(call)) return;
    if (Predicts(Expect(call.contract, call.image, 0, before_))) {
      Found(named.key, named.words);
    }
  }

  void ByRow() {
    if (step_.kernel == Kernel::kWriter) {
      const WritePlan plan = PlanWrites(contract_.writer(), image_.pool, step_);
      if (plan.repeated || expected_.pool.empty()) return;
      for (const NamedRowChange& named : kRowChanges) {
        Expectation other = expected_;
        for (const RowWrite& row : plan.rows) {
          ChangeToken(named.change, row.place(), &other.pool);
        }
        if (Predicts(other)) Found(named.key, named.words);
      }
    } else if (step_.kernel == Kernel::kGather) {
      for (const NamedRowChange& named : kRowChanges) {
        std::vector<std::uint8_t> pool(before_.begin(), before_.end());
        for (std::int64_t slot = 0; slot < image_.pool.slots(); ++slot) {
          ChangeToken(named.change, PlaceOf(image_.pool, slot), &pool);
        }
        Expectation other = Expect(contract_, image_, index_, pool);
        other.pool.clear();
        if (Predicts(other)) Found(named.key, named.words);
      }
    }
  }

  void ChangeToken(RowChange change, const TokenPlace& place,
                   std::vector<std::uint8_t>* pool) const {
    if (!Fits(layout_, place, static_cast<std::int64_t>(pool->size()))) return;
    TokenBytes token;
    LoadToken(layout_, place, pool->data(), token.data());
    change(layout_, token.data());
    StoreToken(layout_, place, token.data(), pool->data());
  }

  // Of a writer and a gather: what is wrong is what stood there.
  void ByBytes() {
    std::int64_t first = -1, last = -1, wrong = 0;
    const auto add = [&](std::int64_t byte) {
      first = first < 0 ? byte : std::min(first, byte);
      last = std::max(last, byte);
      ++wrong;
    };
    if (step_.kernel == Kernel::kWriter) {
      const absl::Span<const std::uint8_t> want =
          ExpectedPool(expected_, before_);
      for (std::size_t i = 0; i < want.size(); ++i) {
        if (want[i] == after_.pool[i]) continue;
        if (after_.pool[i] != before_[i]) return;
        const PoolPlace place =
            PlaceInPool(image_.pool, static_cast<std::int64_t>(i));
        if (place.slot < 0) return;
        add(place.byte);
      }
    } else if (step_.kernel == Kernel::kGather) {
      if (after_.pool != before_) return;
      for (std::size_t t = 0; t < step_.tensors.size(); ++t) {
        const Tensor& dst = step_.tensors[t];
        if (!dst.output) continue;
        if (dst.strides[0] <= 0) return;
        for (std::size_t i = 0; i < expected_.outputs[t].size(); ++i) {
          if (expected_.outputs[t][i] == after_.outputs[t][i]) continue;
          if (after_.outputs[t][i] != dst.bytes[i]) return;
          add(static_cast<std::int64_t>(i) %
              (DTypeSize(dst.dtype) * dst.strides[0]));
        }
      }
    }
    // One byte may be right by chance in what was never written, and a byte
    // that is kept by chance is no sign of anything.
    if (wrong < 2) return;
    Found(kBytesMissing,
          absl::StrCat("left bytes ", first, "..", last,
                       " of rows that it was to write as they were"));
  }

  const Contract& contract_;
  const CaseImage& image_;
  const int index_;
  const StepImage& step_;
  const RowLayout& layout_;
  const absl::Span<const std::uint8_t> before_;
  const Expectation& expected_;
  const AfterImage& after_;
  std::vector<OtherReading> found_;
};

}  // namespace

std::vector<OtherReading> OtherReadings(
    const Contract& contract, const CaseImage& image, int step,
    absl::Span<const std::uint8_t> pool_before, const Expectation& expected,
    const AfterImage& after) {
  return Reader(contract, image, step, pool_before, expected, after).Run();
}

std::vector<OtherReading> NarrowedRules(
    const Contract& contract, const CaseImage& image, int step,
    absl::Span<const std::uint8_t> pool_before, const Expectation& expected,
    const AfterImage& after) {
  return Reader(contract, image, step, pool_before, expected, after).Narrowed();
}

bool IsNarrowedRule(absl::string_view key) {
  return std::any_of(std::begin(kChanges), std::end(kChanges),
                     [key](const NamedChange& change) {
                       return key == change.key && change.narrowed;
                     });
}

bool RulesOutNarrowedRule(const Contract& contract, const CaseImage& image,
                          int step, absl::Span<const std::uint8_t> pool_before,
                          const AfterImage& after, absl::string_view key) {
  const StepImage& own = image.steps[static_cast<std::size_t>(step)];
  for (const NamedChange& named : kChanges) {
    if (key != named.key || !named.narrowed || named.kernel != own.kernel ||
        own.step == nullptr) {
      continue;
    }
    Call call(contract, image, own);
    if (!named.change(call)) return false;
    const Expectation other = Expect(call.contract, call.image, 0, pool_before);
    // What it reads outside may be anything.
    if (!other.unsettled.empty()) return false;
    return !Matches(call.contract, call.image, 0, pool_before, other, after);
  }
  return false;
}

bool IsOtherReading(absl::string_view key) {
  const auto has_key = [key](const auto& change) { return key == change.key; };
  return std::any_of(std::begin(kChanges), std::end(kChanges), has_key) ||
         std::any_of(std::begin(kRowChanges), std::end(kRowChanges), has_key);
}

}  // namespace mlafuzz::oracle
