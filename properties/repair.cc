#include "properties/repair.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "corpus/token_layout.h"
#include "corpus/values.h"
#include "google/protobuf/repeated_field.h"
#include "properties/layout_pool.h"
#include "properties/repair_parts.h"
#include "properties/variants.h"

namespace mlafuzz {
namespace {

// Gaps larger than this add bytes and no behaviour.
constexpr std::uint32_t kMaxGap = 4096;

std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t Wrap(std::int64_t value, std::int64_t n) {
  const std::int64_t rest = value % n;
  return rest < 0 ? rest + n : rest;
}

std::int64_t Slots(const Pool& pool) {
  return std::int64_t{pool.page_size()} * pool.pages();
}

template <typename T>
void Truncate(google::protobuf::RepeatedField<T>* list, int size) {
  if (list->size() > size) list->Truncate(size);
}

template <typename T>
void Truncate(google::protobuf::RepeatedPtrField<T>* list, int size) {
  while (list->size() > size) list->RemoveLast();
}

// Makes the slots that are not negative distinct, unless the layout's writers
// take any.
void RepairSlots(Integers& slots, std::int64_t n, std::uint32_t max_tokens,
                 bool any) {
  Truncate(slots.mutable_values(), static_cast<int>(max_tokens));
  if (slots.count() > max_tokens) slots.set_count(max_tokens);
  if (any) return;
  const std::int64_t literal = slots.values_size();
  const std::int64_t tokens = std::max<std::int64_t>(slots.count(), literal);
  bool negative = true;
  for (std::int64_t& slot : *slots.mutable_values()) {
    if (slot >= n) slot %= n;
    negative &= slot < 0;
  }
  // Generated slots alone are distinct until the domain is used up.
  if (negative) {
    if (tokens - literal > n) {
      slots.set_count(static_cast<std::uint32_t>(literal + n));
    }
    return;
  }
  if (tokens == 1) return;
  std::vector<std::int64_t> all = ExpandIntegers(
      slots, static_cast<std::uint64_t>(tokens), static_cast<std::uint64_t>(n));
  std::vector<bool> taken(static_cast<std::size_t>(n));
  bool changed = false;
  for (std::int64_t& slot : all) {
    if (slot < 0) continue;
    if (taken[slot]) {
      // The next free slot, or none at all.
      changed = true;
      std::int64_t next = slot;
      std::int64_t tries = 0;
      while (taken[next] && tries < n) {
        next = (next + 1) % n;
        ++tries;
      }
      slot = tries < n ? next : -1;
      if (slot < 0) continue;
    }
    taken[slot] = true;
  }
  if (!changed) return;
  slots.clear_count();
  slots.mutable_values()->Assign(all.begin(), all.end());
}

void RepairTableShape(Table& table, const CaseLimits& limits) {
  // Rows of an expanded table are one.
  const std::uint32_t rows = table.expanded()
                                 ? std::max(limits.requests, limits.index_rows)
                                 : limits.requests;
  if (table.rows() > rows) table.set_rows(rows);
  if (table.columns() > limits.table_columns) {
    table.set_columns(limits.table_columns);
  }
  if (table.row_stride() != 0 &&
      (table.row_stride() < table.columns() ||
       table.row_stride() > table.columns() + kMaxGap)) {
    table.set_row_stride(0);
  }
  const std::int64_t cells =
      std::int64_t{table.expanded() ? std::min(table.rows(), 1u)
                                    : table.rows()} *
      table.columns();
  Truncate(table.mutable_pages()->mutable_values(), static_cast<int>(cells));
  if (table.pages().count() > cells) {
    table.mutable_pages()->set_count(static_cast<std::uint32_t>(cells));
  }
}

// Lets the entry of [row, column] name a page.
void RepairTableEntry(Table& table, std::int64_t row, std::int64_t column,
                      std::int64_t pages) {
  const std::int64_t at =
      (table.expanded() ? 0 : row * table.columns()) + column;
  Integers& list = *table.mutable_pages();
  if (at < list.values_size()) {
    const std::int64_t page = list.values(static_cast<int>(at));
    if (page < 0 || page >= pages) {
      list.set_values(static_cast<int>(at), Wrap(page, pages));
    }
  } else if (at >= list.count()) {
    list.set_count(static_cast<std::uint32_t>(at + 1));
  }
}

// Rows and table entries of a gather whose lists are no longer than its limits
// allow. Every form that is valid stays: starts in any order, equal, or past
// the end; requests without rows anywhere, by a negative length too; requests
// that share rows of dst and agree on what they hold.
class GatherRepair {
 public:
  GatherRepair(Gather& gather, const Pool& pool, const CaseLimits& limits)
      : gather_(gather),
        table_(*gather.mutable_block_table()),
        page_size_(pool.page_size()),
        pages_(pool.pages()),
        dst_rows_(gather.dst_rows()),
        // The last entry may be an end.
        requests_(
            std::max(0, gather.workspace_starts_size() -
                            (TokenLayoutOf(pool.layout()).copied ? 1 : 0))),
        lens_(gather.seq_lens_size() > 0),
        limits_(limits) {}

  void Run() {
    KeepInside();
    RepairEntries();
    if (TooMany() && !lens_) Ascend();
    for (int i = requests_ - 1; i >= 0 && lens_ && TooMany(); --i) {
      if (i < gather_.seq_lens_size()) Shorten(i, 0);
    }
    if (RowsMeet()) Separate();
  }

 private:
  // Rows of dst that a request owns, and the position of the first one's token.
  struct Range {
    std::int64_t first;
    std::int64_t rows;
    std::int64_t token;
  };

  Range RangeOf(int i) const {
    std::int64_t first = gather_.workspace_starts(i);
    std::int64_t rows = 0;
    if (lens_) {
      if (i < gather_.seq_lens_size()) rows = gather_.seq_lens(i);
    } else {
      first = std::min(first, dst_rows_);
      rows = (i + 1 < gather_.workspace_starts_size()
                  ? std::min<std::int64_t>(gather_.workspace_starts(i + 1),
                                           dst_rows_)
                  : dst_rows_) -
             first;
    }
    return {first, std::max<std::int64_t>(rows, 0),
            i < gather_.seq_starts_size() ? gather_.seq_starts(i) : 0};
  }

  void Shorten(int i, std::int64_t rows) {
    if (gather_.seq_lens(i) > rows) {
      gather_.set_seq_lens(i, static_cast<std::int32_t>(rows));
    }
  }

  // No row lies outside dst, no token before its sequence.
  void KeepInside() {
    for (std::int32_t& first : *gather_.mutable_seq_starts()) {
      if (first < 0) first = 0;
    }
    for (int i = 0; i < requests_; ++i) {
      const Range r = RangeOf(i);
      // From a negative start on, the starts must rise to the end of dst.
      if (r.first < 0 && (!lens_ || r.rows > 0)) {
        gather_.set_workspace_starts(i, 0);
      }
      if (lens_ && r.rows > 0) {
        Shorten(i, std::max<std::int64_t>(
                       0, dst_rows_ - gather_.workspace_starts(i)));
      }
    }
  }

  // Every entry that is read is there and names a page.
  void RepairEntries() {
    std::int64_t needed = table_.columns();
    std::int64_t rows = table_.rows();
    for (int i = 0; i < requests_; ++i) {
      Range r = RangeOf(i);
      if (r.rows == 0) continue;
      // A first token too far off is moved in.
      if (CeilDiv(r.token + r.rows, page_size_) > limits_.table_columns) {
        r.token %= page_size_;
        gather_.set_seq_starts(i, static_cast<std::int32_t>(r.token));
      }
      needed = std::max(needed, CeilDiv(r.token + r.rows, page_size_));
      rows = std::max<std::int64_t>(rows, i + 1);
    }
    if (!table_.expanded()) table_.set_rows(static_cast<std::uint32_t>(rows));
    if (needed > table_.columns()) {
      table_.set_columns(static_cast<std::uint32_t>(needed));
      if (table_.row_stride() != 0 && table_.row_stride() < needed) {
        table_.set_row_stride(static_cast<std::uint32_t>(needed + 1));
      }
    }
    for (int i = 0; i < requests_; ++i) {
      const Range r = RangeOf(i);
      if (r.rows == 0) continue;
      for (std::int64_t column = r.token / page_size_;
           column < CeilDiv(r.token + r.rows, page_size_); ++column) {
        RepairTableEntry(table_, i, column, pages_);
      }
    }
  }

  // More page tasks than a launch holds, or more rows than a case is meant to
  // have: only requests that share rows come to that.
  bool TooMany() const {
    std::int64_t tasks = 0, rows = 0;
    for (int i = 0; i < requests_; ++i) {
      const Range r = RangeOf(i);
      rows += r.rows;
      tasks += CeilDiv(r.token % page_size_ + r.rows, page_size_);
    }
    return rows > 2 * std::int64_t{limits_.dst_rows} ||
           tasks > CeilDiv(dst_rows_, page_size_) + 2 * requests_;
  }

  bool RowsMeet() const {
    std::vector<Range> ranges;
    for (int i = 0; i < requests_; ++i) {
      if (const Range r = RangeOf(i); r.rows > 0) ranges.push_back(r);
    }
    std::sort(ranges.begin(), ranges.end(),
              [](const Range& a, const Range& b) { return a.first < b.first; });
    for (std::size_t i = 1; i < ranges.size(); ++i) {
      if (ranges[i].first < ranges[i - 1].first + ranges[i - 1].rows) {
        return true;
      }
    }
    return false;
  }

  // A row that two requests fill comes from one slot. Lengths end before the
  // first that does not; without lengths the starts are put in order.
  void Separate() {
    const std::int64_t columns = table_.columns();
    const std::int64_t cells =
        (table_.expanded() ? 1 : std::int64_t{table_.rows()}) * columns;
    const std::int64_t given = std::min<std::int64_t>(
        cells, std::max<std::int64_t>(table_.pages().count(),
                                      table_.pages().values_size()));
    const std::vector<std::int64_t> pages =
        ExpandIntegers(table_.pages(), static_cast<std::uint64_t>(given),
                       static_cast<std::uint64_t>(pages_));
    std::vector<std::int64_t> slots(static_cast<std::size_t>(dst_rows_), -1);
    for (int i = 0; i < requests_; ++i) {
      const Range r = RangeOf(i);
      const std::int64_t from = table_.expanded() ? 0 : i * columns;
      for (std::int64_t k = 0; k < r.rows; ++k) {
        const std::int64_t token = r.token + k;
        const std::int64_t page =
            pages[static_cast<std::size_t>(from + token / page_size_)];
        const std::int64_t slot = page * page_size_ + token % page_size_;
        std::int64_t& was = slots[static_cast<std::size_t>(r.first + k)];
        if (was < 0) was = slot;
        if (was == slot) continue;
        if (!lens_) {
          Ascend();
          return;
        }
        Shorten(i, k);
        break;
      }
    }
  }

  // Starts ascend within dst: requests have rows of their own.
  void Ascend() {
    std::int32_t previous = 0;
    for (std::int32_t& start : *gather_.mutable_workspace_starts()) {
      start = std::max(previous,
                       std::min(start, static_cast<std::int32_t>(dst_rows_)));
      previous = start;
    }
    RepairEntries();
  }

  Gather& gather_;
  Table& table_;
  const std::int64_t page_size_;
  const std::int64_t pages_;
  const std::int64_t dst_rows_;
  const int requests_;
  const bool lens_;
  const CaseLimits& limits_;
};

}  // namespace

std::uint32_t RepairStride(std::uint32_t stride, std::uint32_t least,
                           std::uint32_t multiple, bool free) {
  if (stride == 0) return 0;
  if (stride > least + kMaxGap) return 0;
  if (free) return stride;
  if (stride < least) return 0;
  return (stride + multiple - 1) / multiple * multiple;
}

void RepairPatterns(Values& values, std::uint64_t count) {
  if (!Values::Pattern_IsValid(values.pattern())) {
    values.set_pattern(Values::MIXED);
  }
  if (values.bits() > 0xffff) values.set_bits(values.bits() & 0xffff);
  auto* sets = values.mutable_set();
  int kept = 0;
  for (int i = 0; i < sets->size(); ++i) {
    if (sets->Get(i).at() >= count) continue;
    if (sets->Get(i).bits() > 0xffff) {
      sets->Mutable(i)->set_bits(sets->Get(i).bits() & 0xffff);
    }
    if (kept != i) sets->SwapElements(kept, i);
    ++kept;
  }
  Truncate(sets, kept);
}

void KeepSets(Indices& indices) {
  const std::uint64_t cells = std::uint64_t{indices.rows()} * indices.width();
  auto* sets = indices.mutable_set();
  int kept = 0;
  for (int i = 0; i < sets->size(); ++i) {
    if (sets->Get(i).at() >= cells) continue;
    if (kept != i) sets->SwapElements(kept, i);
    ++kept;
  }
  Truncate(sets, kept);
}

CaseLimits LimitsOf(const GeneratorOptions& options) {
  // Small: 65 tokens and 300 rows are about 1 ms each on the host backend, and
  // more tokens are mostly skipped ones; 2176 is the widest index buffer in use
  // (2048 with its tail, to 128).
  if (options.small)
    return {256,  512, 520,  300, 48,  320, 520, 2304,
            4608, 80,  2304, 384, 256, 576, 6};
  // Slots past 16 bits.
  return {256,  (1u << 16) + 1024, 2048, 4096,     1024,
          4096, 1u << 16,          2304, 1u << 18, 512,
          4096, 1u << 16,          4096, 4096,     24};
}

void RepairPool(Pool& pool, const GeneratorOptions& options) {
  const CaseLimits limits = LimitsOf(options);
  const TokenLayout& layout = TokenLayoutOf(options.layout);
  const auto token = static_cast<std::uint32_t>(layout.token_bytes);
  const auto alignment = static_cast<std::uint32_t>(layout.alignment);
  SetLayout(options.layout, pool);
  pool.set_page_size(std::clamp(pool.page_size(), 1u, limits.page_size));
  pool.set_pages(std::clamp<std::uint32_t>(
      pool.pages(), 1,
      std::max<std::uint64_t>(1, limits.slots / pool.page_size())));
  if (options.rows == GatherContract::ROWS_ONE_SCALE && !options.invalid) {
    pool.set_row_bytes(kOneScaleRow);
  } else if (pool.row_bytes() != 0 &&
             (!options.invalid || pool.row_bytes() > 2 * token)) {
    pool.clear_row_bytes();
  }
  const std::uint32_t row = pool.row_bytes() != 0 ? pool.row_bytes() : token;
  pool.set_row_stride(
      layout.split()
          ? 0
          : RepairStride(pool.row_stride(), row, alignment, options.invalid));
  const std::uint64_t dense = PlainPageStride(pool);
  if (pool.page_stride() > dense + 4 * kMaxGap ||
      (!options.invalid && pool.page_stride() < dense)) {
    pool.clear_page_stride();
  }
  if (!options.invalid && pool.page_stride() % alignment != 0) {
    pool.set_page_stride((pool.page_stride() + alignment - 1) / alignment *
                         alignment);
  }
  if (pool.offset() > 4 * kMaxGap) pool.set_offset(pool.offset() % kMaxGap);
  if (!options.invalid && pool.offset() % alignment != 0) {
    pool.set_offset(pool.offset() / alignment * alignment);
  }
  if (pool.has_fill()) {
    Fill& fill = *pool.mutable_fill();
    if (!Fill::Kind_IsValid(fill.kind())) fill.set_kind(Fill::ROWS);
    if (!Fill::Scales_IsValid(fill.scales())) fill.clear_scales();
    if (fill.byte() > 255) fill.set_byte(fill.byte() & 255);
  }
  auto* patches = pool.mutable_patches();
  for (int i = patches->size() - 1; i >= 0; --i) {
    Patch& patch = *patches->Mutable(i);
    if (patch.at() + std::uint64_t{patch.data().size()} > row) {
      patches->DeleteSubrange(i, 1);
    } else if (patch.slot() >= static_cast<std::uint64_t>(Slots(pool))) {
      patch.set_slot(patch.slot() % Slots(pool));
    }
  }
}

void RepairWrite(Write& write, const Pool& pool,
                 const GeneratorOptions& options) {
  const CaseLimits limits = LimitsOf(options);
  const TokenLayout& layout = TokenLayoutOf(options.layout);
  const auto codes = static_cast<std::uint32_t>(layout.codes);
  const auto rope = static_cast<std::uint32_t>(layout.rope);
  RepairSlots(*write.mutable_slots(), Slots(pool), limits.tokens,
              TakesAnySlot(options.layout));
  const std::int64_t tokens = std::max<std::int64_t>(
      write.slots().count(), write.slots().values_size());
  if (write.input() != DTYPE_UNSPECIFIED && write.input() != BF16 &&
      write.input() != F16 &&
      (write.input() != F32 || !(options.invalid || options.fp32))) {
    write.clear_input();
  }
  if (options.fp32 && !options.invalid) write.set_input(F32);
  if (write.latent_dim() != 0 &&
      (!options.invalid || write.latent_dim() > 2 * codes)) {
    write.clear_latent_dim();
  }
  // fp8_ds_mla has rows without rope too.
  const bool known = write.pe_dim() == rope ||
                     (write.pe_dim() == 0 && layout.layout == FP8_DS_MLA);
  if (!known && (!options.invalid || write.pe_dim() > 256)) {
    write.set_pe_dim(rope);
  }
  const std::uint32_t latent =
      write.latent_dim() != 0 ? write.latent_dim() : codes;
  // Missing source rows are a class of their own; a short stride (rows that
  // overlap in the source) is nothing that a caller makes.
  std::int32_t surplus = std::min(write.surplus_rows(), 64);
  if (surplus < 0) {
    surplus = options.invalid
                  ? std::max<std::int32_t>(surplus, -static_cast<int>(tokens))
                  : 0;
  }
  write.set_surplus_rows(surplus);
  const auto stride = [&](std::uint32_t value, std::uint32_t columns,
                          std::uint32_t multiple) {
    if (value < columns) return 0u;
    return RepairStride(value, columns, multiple, options.invalid);
  };
  write.set_kv_c_row_stride(stride(write.kv_c_row_stride(), latent, 8));
  write.set_k_pe_row_stride(stride(write.k_pe_row_stride(), write.pe_dim(), 2));
  if (write.pe_dim() == 0) {
    write.clear_k_pe();
    write.clear_k_pe_row_stride();
    write.clear_k_pe_offset();
  }
  if (write.kv_c_offset() > kMaxGap) write.clear_kv_c_offset();
  if (write.k_pe_offset() > kMaxGap) write.clear_k_pe_offset();
  if (!options.invalid) {
    write.set_kv_c_offset(write.kv_c_offset() / 8 * 8);
    write.set_k_pe_offset(write.k_pe_offset() / 2 * 2);
  }
  if (write.has_kv_c()) {
    RepairPatterns(*write.mutable_kv_c(),
                   static_cast<std::uint64_t>(tokens) * latent);
  }
  if (write.has_k_pe()) {
    RepairPatterns(*write.mutable_k_pe(),
                   static_cast<std::uint64_t>(tokens) * write.pe_dim());
  }
  for (Values* values : {write.has_kv_c() ? write.mutable_kv_c() : nullptr,
                         write.has_k_pe() ? write.mutable_k_pe() : nullptr}) {
    if (values == nullptr) continue;
    if (write.input() != F32) values->clear_low_seed();
    for (SetBits& set : *values->mutable_set()) {
      set.set_low(write.input() == F32 ? set.low() & 0xffff : 0);
    }
  }
}

void RepairGather(Gather& gather, const Pool& pool,
                  const GeneratorOptions& options) {
  const CaseLimits limits = LimitsOf(options);
  if (gather.dst_rows() > limits.dst_rows) gather.set_dst_rows(limits.dst_rows);
  const TokenLayout& layout = TokenLayoutOf(options.layout);
  const auto plain = static_cast<std::uint32_t>(layout.dst_columns());
  const DType dtype = DstDtype(options);
  if (gather.output() != DTYPE_UNSPECIFIED && gather.output() != dtype &&
      gather.output() != layout.dst_dtype() &&
      (!options.invalid || !DType_IsValid(gather.output()))) {
    gather.clear_output();
  }
  if (gather.dst_columns() != 0 &&
      (!options.invalid || gather.dst_columns() > 2 * plain) &&
      gather.dst_columns() != DstColumns(options)) {
    gather.clear_dst_columns();
  }
  if (options.rows == GatherContract::ROWS_BYTES) {
    if (!options.invalid) {
      gather.set_output(dtype);
      gather.set_dst_columns(DstColumns(options));
    }
    gather.clear_nope();
  }
  if (options.rows == GatherContract::ROWS_ONE_SCALE) {
    gather.clear_nope();
    // Positive and finite.
    std::uint32_t bits = gather.tensor_scale_bits() & 0x7fffffffu;
    if (bits == 0 || bits >= 0x7f800000u) bits = 0x3f800000u;
    gather.set_tensor_scale_bits(bits);
  } else {
    gather.clear_tensor_scale_bits();
  }
  const std::uint32_t columns =
      gather.dst_columns() != 0 ? gather.dst_columns() : plain;
  gather.set_dst_row_stride(RepairStride(gather.dst_row_stride(), columns,
                                         layout.copied ? 4 : 8,
                                         options.invalid));
  if (layout.layout != FP8_DS_MLA) gather.clear_nope();
  if (layout.copied) {
    gather.clear_seq_lens();
    gather.clear_seq_starts();
    if (gather.workspace_starts_size() == 0) gather.add_workspace_starts(0);
  }

  Truncate(gather.mutable_workspace_starts(),
           static_cast<int>(limits.requests));
  Truncate(gather.mutable_seq_lens(), static_cast<int>(limits.requests));
  Truncate(gather.mutable_seq_starts(), static_cast<int>(limits.requests));
  const int requests = gather.workspace_starts_size() - (layout.copied ? 1 : 0);
  Table& table = *gather.mutable_block_table();
  if (!options.invalid) {
    table.set_rows(static_cast<std::uint32_t>(requests));
    if (gather.seq_lens_size() > 0) {
      gather.mutable_seq_lens()->Resize(requests, 0);
    }
    if (gather.seq_starts_size() > 0) {
      gather.mutable_seq_starts()->Resize(requests, 0);
    }
  }
  RepairTableShape(table, limits);

  GatherRepair(gather, pool, limits).Run();
}

namespace {

// Every row of the call belongs to a prefill request that has a start, or to a
// decode; no token lies past int32.
void RepairWorkspace(Convert& convert, std::int64_t rows,
                     const GeneratorOptions& options) {
  auto& ids = *convert.mutable_prefill_request_ids();
  auto& starts = *convert.mutable_prefill_workspace_starts();
  if (!options.workspace) {
    ids.Clear();
    starts.Clear();
    return;
  }
  Truncate(&ids, static_cast<int>(rows));
  Truncate(&starts, 64);
  constexpr std::int32_t kLastStart = 1 << 30;
  for (std::int32_t& start : starts) {
    start = std::clamp(start, 0, kLastStart);
  }
  for (std::int32_t& id : ids) {
    id = std::clamp(id, -1, static_cast<std::int32_t>(starts.size()) - 1);
  }
}

}  // namespace

void RepairConvert(Convert& convert, const Pool& pool,
                   const GeneratorOptions& options) {
  const CaseLimits limits = LimitsOf(options);
  Indices& indices = *convert.mutable_token_indices();
  if (indices.width() > limits.index_width) {
    indices.set_width(limits.index_width);
  }
  indices.set_rows(
      std::min({indices.rows(), limits.index_rows,
                indices.width() == 0 ? limits.index_rows
                                     : limits.index_cells / indices.width()}));
  const auto stride = [&](std::uint32_t value) {
    return RepairStride(value, indices.width(), 1, false);
  };
  indices.set_row_stride(stride(indices.row_stride()));
  convert.set_out_row_stride(stride(convert.out_row_stride()));
  if (!Indices::Place_IsValid(indices.place())) indices.clear_place();
  if (!Indices::Pad_IsValid(indices.pad())) indices.clear_pad();
  KeepSets(indices);

  std::int32_t surplus =
      options.invalid ? std::min(convert.surplus_requests(), 64) : 0;
  surplus = std::max(surplus, -static_cast<std::int32_t>(indices.rows()));
  convert.set_surplus_requests(surplus);
  Table& table = *convert.mutable_block_table();
  if (table.rows() == 0) table.set_rows(1);
  RepairTableShape(table, limits);
  const std::int64_t id_count = indices.rows() + surplus;
  if (convert.has_request_ids()) {
    Integers& ids = *convert.mutable_request_ids();
    Truncate(ids.mutable_values(), static_cast<int>(id_count));
    if (ids.count() > id_count) {
      ids.set_count(static_cast<std::uint32_t>(id_count));
    }
    for (std::int64_t& id : *ids.mutable_values()) {
      id = options.any_request ? static_cast<std::int32_t>(id)
                               : Wrap(id, table.rows());
    }
  }
  RepairWorkspace(convert, id_count, options);
  if (options.any_page) {
    for (std::int64_t& page : *table.mutable_pages()->mutable_values()) {
      page = static_cast<std::int32_t>(page);
    }
    return;
  }

  // Entries that are read must name pages. Generated ones do.
  const std::int64_t total =
      std::int64_t{table.expanded() ? 1 : table.rows()} * table.columns();
  bool doubtful = std::max<std::int64_t>(table.pages().values_size(),
                                         table.pages().count()) < total;
  for (const std::int64_t page : table.pages().values()) {
    doubtful |= page < 0 || page >= pool.pages();
  }
  if (!doubtful) return;
  const std::vector<std::int64_t> requests =
      ExpandIntegers(convert.request_ids(), id_count, table.rows());
  const std::vector<std::int32_t> tokens = ExpandIndices(indices);
  const std::uint64_t read =
      std::min<std::uint64_t>(indices.rows(), id_count) * indices.width();
  for (std::uint64_t at = 0; at < read; ++at) {
    if (tokens[at] < 0) continue;
    const std::int64_t column = tokens[at] / pool.page_size();
    if (column >= table.columns()) continue;
    const std::int64_t request = requests[at / indices.width()];
    if (request < 0 || request >= table.rows()) continue;  // has no entry
    RepairTableEntry(table, request, column, pool.pages());
  }
}

void RepairCase(Case& c, const GeneratorOptions& options) {
  if (c.format() > 1) c.clear_format();
  Pool& pool = *c.mutable_pool();
  RepairPool(pool, options);
  if (options.decode && !options.invalid &&
      std::any_of(c.steps().begin(), c.steps().end(),
                  [](const Step& step) { return step.has_decode(); })) {
    AlignForDecode(pool);
  }
  const std::uint32_t row =
      pool.row_bytes() != 0 ? pool.row_bytes()
                            : static_cast<std::uint32_t>(
                                  TokenLayoutOf(options.layout).token_bytes);
  auto* steps = c.mutable_steps();
  int kept = 0;
  for (int i = 0; i < steps->size(); ++i) {
    Step& step = *steps->Mutable(i);
    bool keep = kept < LimitsOf(options).steps;
    switch (step.call_case()) {
      case Step::kWrite:
        keep &= options.writer;
        if (keep) RepairWrite(*step.mutable_write(), pool, options);
        break;
      case Step::kGather:
        keep &= options.gather;
        if (keep) RepairGather(*step.mutable_gather(), pool, options);
        break;
      case Step::kConvert:
        keep &= options.convert;
        if (keep) RepairConvert(*step.mutable_convert(), pool, options);
        break;
      case Step::kDecode:
        keep &= options.decode && IsDecoded(options.layout);
        if (keep) RepairDecode(*step.mutable_decode(), pool, options);
        break;
      case Step::kPatch: {
        Patch& patch = *step.mutable_patch();
        keep &= patch.at() + std::uint64_t{patch.data().size()} <= row;
        if (keep && patch.slot() >= static_cast<std::uint64_t>(Slots(pool))) {
          patch.set_slot(patch.slot() % Slots(pool));
        }
        break;
      }
      default:
        keep = false;
    }
    if (!keep) continue;
    if (kept != i) steps->SwapElements(kept, i);
    ++kept;
  }
  Truncate(steps, kept);
}

}  // namespace mlafuzz
