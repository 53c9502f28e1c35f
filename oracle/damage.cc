#include "oracle/damage.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "oracle/bf16.h"
#include "oracle/expect_parts.h"
#include "oracle/gather_rows.h"
#include "oracle/layout.h"
#include "oracle/tensor_view.h"
#include "oracle/token_place.h"
#include "oracle/write_plan.h"

namespace mlafuzz::oracle {
namespace {

using Bytes = absl::Span<const std::uint8_t>;

bool Equal(Bytes a, Bytes b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

void Count(Region* region, int tensor, std::int64_t at) {
  if (region->count++ == 0) {
    region->tensor = tensor;
    region->at = at;
  }
}

// --------------------------------------------- what a contract leaves open

bool LeavesScaleNanOpen(const Contract& contract) {
  return contract.writer().nan() == WriterContract::NAN_POISONS_SCALE;
}
bool LeavesValueNanOpen(const Contract& contract) {
  return contract.gather().nan() == GatherContract::NAN_ANY;
}

bool BothNan32(const std::uint8_t* a, const std::uint8_t* b) {
  return IsNanBits(LoadBytes<std::uint32_t>(a)) &&
         IsNanBits(LoadBytes<std::uint32_t>(b));
}
bool BothNan16(const std::uint8_t* a, const std::uint8_t* b) {
  return IsBf16Nan(LoadBytes<std::uint16_t>(a)) &&
         IsBf16Nan(LoadBytes<std::uint16_t>(b));
}

// `got` with NaN payloads that the contract leaves open set to the expected.
std::vector<std::uint8_t> SettleScales(const PoolImage& pool, Bytes expected,
                                       Bytes got) {
  std::vector<std::uint8_t> out(got.begin(), got.end());
  const RowLayout& layout = LayoutOf(pool.layout);
  // One byte has one NaN.
  if (layout.scale_kind == RowLayout::Scales::kUe8m0) return out;
  for (std::int64_t slot = 0; slot < pool.slots(); ++slot) {
    for (int tile = 0; tile < layout.tiles(); ++tile) {
      const std::size_t at = static_cast<std::size_t>(
          PlaceOf(pool, slot)
              .ByteAt(layout, layout.scales_at + tile * layout.scale_bytes));
      if (at + 4 <= out.size() &&
          BothNan32(expected.data() + at, out.data() + at)) {
        std::memcpy(out.data() + at, expected.data() + at, 4);
      }
    }
  }
  return out;
}

// Columns of codes come first.
std::vector<std::uint8_t> SettleValues(std::int64_t codes, const Tensor& dst,
                                       Bytes expected, Bytes got) {
  std::vector<std::uint8_t> out(got.begin(), got.end());
  if (DTypeSize(dst.dtype) != 2) return out;
  const std::int64_t columns = std::min<std::int64_t>(dst.shape[1], codes);
  for (std::int64_t row = 0; row < dst.shape[0]; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      const std::size_t at =
          static_cast<std::size_t>(2 * (row * dst.strides[0] + column));
      if (at + 2 <= out.size() &&
          BothNan16(expected.data() + at, out.data() + at)) {
        std::memcpy(out.data() + at, expected.data() + at, 2);
      }
    }
  }
  return out;
}

// ---------------------------------------------------------------- matching

using Pools = std::vector<std::vector<std::uint8_t>>;

// Whether `got` equals `expected` outside the unsettled ranges of `tensor`. In
// them each byte must be that of one of `others`, if there are any.
bool EqualOutside(Bytes expected, Bytes got,
                  const std::vector<ByteRange>& unsettled, int tensor,
                  const Pools& others) {
  std::vector<std::uint8_t> settled(got.begin(), got.end());
  for (const ByteRange& range : unsettled) {
    if (range.tensor != tensor) continue;
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      const std::size_t at = static_cast<std::size_t>(i);
      if (at >= settled.size()) break;
      const bool written = std::any_of(
          others.begin(), others.end(),
          [&](const auto& pool) { return pool[at] == settled[at]; });
      if (others.empty() || written) settled[at] = expected[at];
    }
  }
  return Equal(expected, settled);
}

// Pools in which every row that several tokens write holds what the first, the
// second, ... of them writes: what a race may leave of them, byte by byte. Of a
// row that fewer write the last.
Pools EachWriters(const Contract& contract, const CaseImage& image, int step,
                  Bytes pool_before) {
  constexpr std::size_t kMostWriters = 16;
  const StepImage& s = image.steps[static_cast<std::size_t>(step)];
  const RowLayout& layout = LayoutOf(image.pool.layout);
  const WritePlan plan = PlanWrites(contract.writer(), image.pool, s);
  std::map<std::int64_t, std::vector<const RowWrite*>> writers;
  std::size_t most = 0;
  for (const RowWrite& row : plan.rows) {
    auto& own = writers[row.at];
    own.push_back(&row);
    most = std::max(most, own.size());
  }
  Pools pools(std::min(most, kMostWriters),
              {pool_before.begin(), pool_before.end()});
  TokenBytes token;
  for (std::size_t i = 0; i < pools.size(); ++i) {
    for (const auto& [at, own] : writers) {
      const RowWrite& row = *own[std::min(i, own.size() - 1)];
      LoadToken(layout, row.place(), pool_before.data(), token.data());
      WriteRow(contract.writer(), image.pool, s, row.token, token.data());
      StoreToken(layout, row.place(), token.data(), pools[i].data());
    }
  }
  return pools;
}

}  // namespace

bool AfterImageOf(const StepImage& step, const StepObservation& observed,
                  Bytes pool_after, AfterImage* after) {
  after->pool = pool_after;
  if (observed.pool && observed.pool->size() != pool_after.size()) return false;
  after->outputs.resize(step.tensors.size());
  if (!observed.outputs.empty() &&
      observed.outputs.size() != step.tensors.size()) {
    return false;
  }
  for (std::size_t i = 0; i < step.tensors.size(); ++i) {
    const Tensor& tensor = step.tensors[i];
    if (!tensor.output) continue;
    after->outputs[i] = tensor.bytes;
    if (observed.outputs.empty() || observed.outputs[i].empty()) continue;
    if (observed.outputs[i].size() != tensor.bytes.size()) return false;
    after->outputs[i] = observed.outputs[i];
  }
  return true;
}

bool Matches(const Contract& contract, const CaseImage& image, int step,
             Bytes pool_before, const Expectation& expected,
             const AfterImage& after) {
  const StepImage& s = image.steps[static_cast<std::size_t>(step)];
  const bool writes = s.kernel == Kernel::kWriter;
  const Bytes pool = ExpectedPool(expected, pool_before);
  const auto forgive = [&](Bytes want, Bytes got, int tensor) {
    if (expected.unsettled.empty()) return false;
    Pools others;
    if (writes) others = EachWriters(contract, image, step, pool_before);
    return EqualOutside(want, got, expected.unsettled, tensor, others);
  };
  if (!Equal(pool, after.pool)) {
    bool equal = false;
    if (writes && LeavesScaleNanOpen(contract)) {
      equal = Equal(pool, SettleScales(image.pool, pool, after.pool));
    }
    if (!equal && !forgive(pool, after.pool, -1)) return false;
  }
  for (std::size_t i = 0; i < s.tensors.size(); ++i) {
    if (!s.tensors[i].output) continue;
    if (Equal(expected.outputs[i], after.outputs[i])) continue;
    std::vector<std::uint8_t> settled;
    Bytes got = after.outputs[i];
    if (s.kernel == Kernel::kGather && LeavesValueNanOpen(contract)) {
      settled = SettleValues(
          DstShapeOf(contract.gather(), LayoutOf(image.pool.layout)).codes,
          s.tensors[i], expected.outputs[i], got);
      got = settled;
      if (Equal(expected.outputs[i], got)) continue;
    }
    if (!forgive(expected.outputs[i], got, static_cast<int>(i))) return false;
  }
  return true;
}

PoolPlace PlaceInPool(const PoolImage& pool, std::int64_t at) {
  PoolPlace place;
  const std::int64_t inside = at - pool.offset;
  if (inside < 0 || pool.page_stride <= 0 || pool.row_stride <= 0) return place;
  const std::int64_t page = std::min(inside / pool.page_stride, pool.pages - 1);
  const std::int64_t in_page = inside - page * pool.page_stride;
  const std::int64_t rows_end = pool.page_size * pool.row_part;
  if (pool.split() && in_page >= rows_end) {
    const std::int64_t entry = pool.row_bytes - pool.row_part;
    const std::int64_t token = (in_page - rows_end) / entry;
    if (token >= pool.page_size) return place;
    place.slot = page * pool.page_size + token;
    place.byte = pool.row_part + (in_page - rows_end) % entry;
    return place;
  }
  const std::int64_t row =
      std::min(in_page / pool.row_stride, pool.page_size - 1);
  const std::int64_t byte = in_page - row * pool.row_stride;
  if (byte >= pool.row_part) return place;
  place.slot = page * pool.page_size + row;
  place.byte = byte;
  return place;
}

// ---------------------------------------------------------------- assessing

namespace {

class Assessor {
 public:
  Assessor(const Contract& contract, const CaseImage& image, int step,
           Bytes pool_before, const Expectation& expected,
           const AfterImage& after)
      : contract_(contract),
        pool_(image.pool),
        layout_(LayoutOf(image.pool.layout)),
        step_(image.steps[static_cast<std::size_t>(step)]),
        before_(pool_before),
        expected_(expected),
        after_(after) {}

  Damage Run() {
    switch (step_.kernel) {
      case Kernel::kWriter:
        AssessRows();
        break;
      case Kernel::kGather:
        AssessDst();
        AssessUnchangedPool();
        break;
      case Kernel::kConvert:
        AssessIndices();
        AssessUnchangedPool();
        break;
      case Kernel::kDecode:
        break;
    }
    return damage_;
  }

 private:
  // ---- writer

  void AssessRows() {
    const Bytes want = ExpectedPool(expected_, before_);
    // Bytes not yet accounted for.
    rest_.assign(after_.pool.begin(), after_.pool.end());
    if (LeavesScaleNanOpen(contract_)) {
      rest_ = SettleScales(pool_, want, after_.pool);
    }
    const WritePlan plan = PlanWrites(contract_.writer(), pool_, step_);
    std::vector<TokenPlace> places;
    for (const RowWrite& row : plan.rows) places.push_back(row.place());
    std::sort(places.begin(), places.end(), Before);
    places.erase(std::unique(places.begin(), places.end(),
                             [](const TokenPlace& a, const TokenPlace& b) {
                               return a.row == b.row;
                             }),
                 places.end());
    damage_.rows = static_cast<std::int64_t>(places.size());
    for (const TokenPlace& place : places) AssessRow(place, want);
    FindSkippedRows(plan, places);
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      if (rest_[i] != want[i]) {
        Count(&damage_.foreign, -1, static_cast<std::int64_t>(i));
      }
    }
  }

  static bool Before(const TokenPlace& a, const TokenPlace& b) {
    return a.row < b.row;
  }

  // A token's bytes in one run.
  std::vector<std::uint8_t> TokenOf(const std::uint8_t* pool,
                                    const TokenPlace& place) const {
    std::vector<std::uint8_t> token(
        static_cast<std::size_t>(layout_.row_bytes));
    LoadToken(layout_, place, pool, token.data());
    return token;
  }

  Region* RegionOf(int byte, bool nope) {
    switch (layout_.PartOf(byte)) {
      case RowLayout::Part::kCodes:
        return &damage_.codes;
      case RowLayout::Part::kRope:
        return nope ? &damage_.tail : &damage_.rope;
      case RowLayout::Part::kScales:
        return &damage_.scales;
      case RowLayout::Part::kPadding:
        return &damage_.padding;
    }
    return &damage_.foreign;
  }

  void AssessRow(const TokenPlace& place, Bytes want) {
    const std::vector<std::uint8_t> got = TokenOf(rest_.data(), place);
    const std::vector<std::uint8_t> row = TokenOf(want.data(), place);
    if (got == row) return;
    ++damage_.wrong_rows;
    const Tensor* k_pe = step_.Find(TensorId::kKPe);
    const bool nope = k_pe == nullptr || k_pe->shape[1] == 0;
    if (got == TokenOf(before_.data(), place)) {
      Count(&damage_.untouched_rows, -1, place.row);
    } else {
      for (int i = 0; i < layout_.row_bytes; ++i) {
        if (got[static_cast<std::size_t>(i)] !=
            row[static_cast<std::size_t>(i)]) {
          Count(RegionOf(i, nope), -1, place.ByteAt(layout_, i));
        }
      }
    }
    StoreToken(layout_, place, row.data(), rest_.data());
  }

  // Rows that changed without being named by any slot, and hold exactly what a
  // skipped token's row would.
  void FindSkippedRows(const WritePlan& plan,
                       const std::vector<TokenPlace>& places) {
    constexpr int kMaxTrials = 4096;
    int trials = 0;
    const Bytes want = ExpectedPool(expected_, before_);
    for (std::int64_t slot = 0; slot < pool_.slots(); ++slot) {
      const TokenPlace place = PlaceOf(pool_, slot);
      if (!Fits(layout_, place, static_cast<std::int64_t>(rest_.size())) ||
          std::binary_search(places.begin(), places.end(), place, Before)) {
        continue;
      }
      const std::vector<std::uint8_t> got = TokenOf(rest_.data(), place);
      const std::vector<std::uint8_t> right = TokenOf(want.data(), place);
      if (got == right) continue;
      for (std::int64_t token : plan.skipped) {
        if (++trials > kMaxTrials) return;
        std::vector<std::uint8_t> row = TokenOf(before_.data(), place);
        WriteRow(contract_.writer(), pool_, step_, token, row.data());
        if (row != got) continue;
        Count(&damage_.skipped_rows, -1, place.row);
        StoreToken(layout_, place, right.data(), rest_.data());
        break;
      }
    }
  }

  // ---- gather

  void AssessDst() {
    const int index = IndexOf(TensorId::kDst);
    if (index < 0) return;
    const Tensor& dst = step_.tensors[index];
    const std::vector<std::uint8_t>& want = expected_.outputs[index];
    rest_.assign(after_.outputs[index].begin(), after_.outputs[index].end());
    if (LeavesValueNanOpen(contract_)) {
      rest_ = SettleValues(DstShapeOf(contract_.gather(), layout_).codes, dst,
                           want, after_.outputs[index]);
    }
    const bool nope = step_.step != nullptr && step_.step->gather().nope();
    const DstShape shape = DstShapeOf(contract_.gather(), layout_);
    const std::int64_t element = shape.element;
    std::vector<std::uint8_t> owned(static_cast<std::size_t>(dst.shape[0]), 0);
    if (DTypeSize(dst.dtype) == element && dst.shape[1] == shape.columns) {
      ForEachGatherRow(contract_.gather(), pool_, step_,
                       [&](const GatherRow& row) {
                         if (row.source == GatherRow::Source::kSlot) {
                           owned[static_cast<std::size_t>(row.row)] = 1;
                         }
                       });
    }
    for (std::int64_t row = 0; row < dst.shape[0]; ++row) {
      if (!owned[static_cast<std::size_t>(row)]) continue;
      ++damage_.rows;
      const std::int64_t at = element * row * dst.strides[0];
      std::uint8_t* got = rest_.data() + at;
      const std::size_t size =
          static_cast<std::size_t>(element * shape.columns);
      if (std::memcmp(got, want.data() + at, size) == 0) continue;
      ++damage_.wrong_rows;
      if (std::memcmp(got, dst.bytes.data() + at, size) == 0) {
        Count(&damage_.missing_rows, index, at);
      } else {
        for (std::int64_t column = 0; column < shape.columns; ++column) {
          const std::int64_t i = element * column;
          if (std::memcmp(got + i, want.data() + at + i,
                          static_cast<std::size_t>(element)) == 0) {
            continue;
          }
          Region* region = column < shape.codes ? &damage_.values
                           : nope               ? &damage_.gather_tail
                                                : &damage_.gather_rope;
          Count(region, index, at + i);
        }
      }
      std::memcpy(got, want.data() + at, size);
    }
    CountForeign(index, want);
    if (layout_.copied) AssessScaleRows(owned);
  }

  // Copied scales, [rows, tiles] fp32.
  void AssessScaleRows(const std::vector<std::uint8_t>& owned) {
    const int index = IndexOf(TensorId::kDstScales);
    if (index < 0) return;
    const std::vector<std::uint8_t>& want = expected_.outputs[index];
    rest_.assign(after_.outputs[index].begin(), after_.outputs[index].end());
    const std::size_t size =
        static_cast<std::size_t>(layout_.scales_end() - layout_.scales_at);
    for (std::size_t row = 0; row < owned.size(); ++row) {
      const std::size_t at = row * size;
      if (!owned[row] || at + size > want.size() ||
          std::memcmp(rest_.data() + at, want.data() + at, size) == 0) {
        continue;
      }
      Count(&damage_.gather_scales, index, static_cast<std::int64_t>(at));
      std::memcpy(rest_.data() + at, want.data() + at, size);
    }
    CountForeign(index, want);
  }

  // What is left in rest_, the bytes of output `index`, is nobody's.
  void CountForeign(int index, const std::vector<std::uint8_t>& want) {
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      if (rest_[i] != want[i]) {
        Count(&damage_.foreign, index, static_cast<std::int64_t>(i));
      }
    }
  }

  // ---- convert

  void AssessIndices() {
    for (std::size_t t = 0; t < step_.tensors.size(); ++t) {
      const Tensor& tensor = step_.tensors[t];
      if (!tensor.output) continue;
      const bool counts = tensor.id == TensorId::kValidCount;
      Region* region = counts ? &damage_.counts : &damage_.indices;
      const int index = static_cast<int>(t);
      const std::vector<std::uint8_t>& want = expected_.outputs[t];
      rest_.assign(after_.outputs[t].begin(), after_.outputs[t].end());
      const std::int64_t columns = tensor.ndim == 1 ? 1 : tensor.shape[1];
      for (std::int64_t row = 0; row < tensor.shape[0]; ++row) {
        bool wrong = false;
        for (std::int64_t column = 0; column < columns; ++column) {
          const std::int64_t at = 4 * (row * tensor.strides[0] + column);
          if (std::memcmp(rest_.data() + at, want.data() + at, 4) == 0) {
            continue;
          }
          wrong = true;
          Count(region, index, at);
          std::memcpy(rest_.data() + at, want.data() + at, 4);
        }
        if (!counts) {
          ++damage_.rows;
          damage_.wrong_rows += wrong ? 1 : 0;
        }
      }
      CountForeign(index, want);
    }
  }

  // ---- all

  void AssessUnchangedPool() {
    if (Equal(before_, after_.pool)) return;
    for (std::size_t i = 0; i < before_.size(); ++i) {
      if (before_[i] != after_.pool[i]) {
        Count(&damage_.foreign, -1, static_cast<std::int64_t>(i));
      }
    }
  }

  int IndexOf(TensorId id) const {
    for (std::size_t i = 0; i < step_.tensors.size(); ++i) {
      if (step_.tensors[i].id == id) return static_cast<int>(i);
    }
    return -1;
  }

  const Contract& contract_;
  const PoolImage& pool_;
  const RowLayout& layout_;
  const StepImage& step_;
  const Bytes before_;
  const Expectation& expected_;
  const AfterImage& after_;
  std::vector<std::uint8_t> rest_;
  Damage damage_;
};

std::string RowPart(const PoolImage& pool, std::int64_t byte) {
  const RowLayout& layout = LayoutOf(pool.layout);
  // Rows under one scale, say, which have no parts.
  if (pool.row_bytes != layout.row_bytes) {
    return absl::StrCat("of ", pool.row_bytes);
  }
  switch (layout.PartOf(byte)) {
    case RowLayout::Part::kCodes:
      return "code";
    case RowLayout::Part::kScales:
      return "scale";
    case RowLayout::Part::kRope:
      return layout.row_bytes == kFp8DsMla.row_bytes ? "tail" : "rope";
    case RowLayout::Part::kPadding:
      return byte < layout.row_bytes ? "padding" : "past the row";
  }
  return "?";
}

}  // namespace

Damage Assess(const Contract& contract, const CaseImage& image, int step,
              Bytes pool_before, const Expectation& expected,
              const AfterImage& after) {
  return Assessor(contract, image, step, pool_before, expected, after).Run();
}

std::string DescribeFirst(const CaseImage& image, int step, Bytes pool_before,
                          const Expectation& expected, const AfterImage& after,
                          const Region& region) {
  if (region.at < 0) return "";
  const std::size_t at = static_cast<std::size_t>(region.at);
  if (region.tensor < 0) {
    const PoolPlace place = PlaceInPool(image.pool, region.at);
    const std::uint8_t want = ExpectedPool(expected, pool_before)[at];
    const std::uint8_t got = after.pool[at];
    if (place.slot < 0) {
      return absl::StrFormat(
          "pool byte %d (%s): expected 0x%02x, got 0x%02x",
          region.at - image.pool.offset,
          region.at < image.pool.offset ? "before page 0" : "between rows",
          want, got);
    }
    return absl::StrFormat("slot %d byte %d (%s): expected 0x%02x, got 0x%02x",
                           place.slot, place.byte,
                           RowPart(image.pool, place.byte), want, got);
  }
  const Tensor& tensor = image.steps[static_cast<std::size_t>(step)]
                             .tensors[static_cast<std::size_t>(region.tensor)];
  const std::vector<std::uint8_t>& want = expected.outputs[region.tensor];
  const Bytes got = after.outputs[region.tensor];
  const std::int64_t size = DTypeSize(tensor.dtype);
  const std::int64_t element = region.at / size;
  const std::int64_t stride = tensor.strides[0];
  const std::int64_t row = stride > 0 ? element / stride : 0;
  const std::int64_t column = stride > 0 ? element % stride : element;
  const std::string where =
      tensor.ndim == 1 ? absl::StrCat(TensorName(tensor.id), "[", element, "]")
                       : absl::StrCat(TensorName(tensor.id), " row ", row,
                                      " column ", column);
  const std::size_t start = static_cast<std::size_t>(element * size);
  if (size == 4 && tensor.dtype == F32 && start + 4 <= want.size()) {
    const auto a = LoadBytes<std::uint32_t>(want.data() + start);
    const auto b = LoadBytes<std::uint32_t>(got.data() + start);
    return absl::StrFormat("%s: expected 0x%08x (%g), got 0x%08x (%g)", where,
                           a, std::bit_cast<float>(a), b,
                           std::bit_cast<float>(b));
  }
  if (size == 4 && start + 4 <= want.size()) {
    return absl::StrFormat("%s: expected %d, got %d", where,
                           LoadBytes<std::int32_t>(want.data() + start),
                           LoadBytes<std::int32_t>(got.data() + start));
  }
  if (size == 2 && start + 2 <= want.size()) {
    const std::uint16_t a = LoadBytes<std::uint16_t>(want.data() + start);
    const std::uint16_t b = LoadBytes<std::uint16_t>(got.data() + start);
    return absl::StrFormat("%s: expected 0x%04x (%g), got 0x%04x (%g)", where,
                           a, Bf16Value(a), b, Bf16Value(b));
  }
  return absl::StrFormat("%s byte %d: expected 0x%02x, got 0x%02x", where,
                         region.at, want[at], got[at]);
}

}  // namespace mlafuzz::oracle
