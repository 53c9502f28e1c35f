#include "corpus/image.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "corpus/case_limits.h"
#include "corpus/pool_fill.h"
#include "corpus/pool_filling.h"
#include "corpus/token_layout.h"
#include "corpus/value_generator.h"
#include "corpus/values.h"

namespace mlafuzz {
namespace {

constexpr std::int64_t kMaxExtent = std::int64_t{1} << 31;

absl::Status Bad(absl::string_view where, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(where, ": ", what));
}

// Lays out one case. Everything that a case may say passes through the checks
// here once; later code relies on them.
class Builder {
 public:
  explicit Builder(const Case& c) : case_(c), poison_(c.poison()) {}

  absl::StatusOr<CaseImage> Build() {
    image_.source = &case_;
    if (case_.format() > 1) {
      return Bad("format", absl::StrCat(case_.format(),
                                        " is newer than this program knows"));
    }
    const Pool& pool = case_.pool();
    if (!Layout_IsValid(pool.layout())) {
      return Bad("pool.layout", absl::StrCat(pool.layout(), " is not known"));
    }
    layout_ = &TokenLayoutOf(pool.layout());
    if (absl::Status s = BuildPool("pool", pool, pool.offset(), image_.pool);
        !s.ok()) {
      return s;
    }
    if (case_.steps_size() > kMaxSteps) {
      return Bad("steps", absl::StrCat(case_.steps_size(), " are more than ",
                                       kMaxSteps));
    }
    image_.steps.reserve(case_.steps_size());
    for (int i = 0; i < case_.steps_size(); ++i) {
      if (absl::Status s = BuildStep(i); !s.ok()) return s;
    }
    return std::move(image_);
  }

 private:
  // Takes `n` bytes from the case's budget.
  absl::Status Take(absl::string_view where, std::int64_t rows,
                    std::int64_t stride, std::int64_t bytes_each) {
    const __int128 n = static_cast<__int128>(rows) * stride * bytes_each;
    if (n > kMaxImageBytes - taken_) {
      return absl::ResourceExhaustedError(absl::StrCat(
          where, ": the case needs more than ", kMaxImageBytes >> 20, " MiB"));
    }
    taken_ += static_cast<std::int64_t>(n);
    return absl::OkStatus();
  }

  // Poison for one use; each use has a stream of its own.
  ValueGenerator NextPoison() { return poison_.Stream(next_stream_++); }

  // `offset` bytes before page 0.
  absl::Status BuildPool(const std::string& where, const Pool& p,
                         std::int64_t offset, PoolImage& pool) {
    const auto in = [&](const char* field) {
      return absl::StrCat(where, ".", field);
    };
    if (p.page_size() < 1) return Bad(in("page_size"), "must be at least 1");
    if (p.pages() < 1) return Bad(in("pages"), "must be at least 1");
    if (p.fill().byte() > 255) return Bad(in("fill.byte"), "is not a byte");
    if (!Fill::Kind_IsValid(p.fill().kind())) {
      return Bad(in("fill.kind"), "is not known");
    }
    if (!Fill::Scales_IsValid(p.fill().scales())) {
      return Bad(in("fill.scales"), "is not known");
    }
    if (layout_->split() && p.row_stride() != 0) {
      return Bad(in("row_stride"), absl::StrCat("a page of ", layout_->name,
                                                " has its rows dense"));
    }
    pool.layout = layout_->layout;
    pool.pages = p.pages();
    pool.page_size = p.page_size();
    pool.row_bytes = p.row_bytes() ? p.row_bytes() : layout_->token_bytes;
    pool.row_part = layout_->split() ? std::min<std::int64_t>(
                                           layout_->row_bytes, pool.row_bytes)
                                     : pool.row_bytes;
    pool.row_stride = p.row_stride() ? p.row_stride() : pool.row_part;
    // What a page takes by itself, rows' gaps included.
    const std::int64_t page =
        layout_->split()
            ? (pool.page_size * pool.row_bytes + layout_->page_multiple - 1) /
                  layout_->page_multiple * layout_->page_multiple
            : pool.page_size * pool.row_stride;
    if (page > kMaxExtent * 64) {
      return absl::ResourceExhaustedError(
          absl::StrCat(in("page_size"), ": is too large"));
    }
    pool.page_stride = p.page_stride()
                           ? static_cast<std::int64_t>(std::min<std::uint64_t>(
                                 p.page_stride(), kMaxImageBytes + 1))
                           : page;
    pool.offset = offset;
    if (absl::Status s = Take(where, pool.pages, pool.page_stride, 1);
        !s.ok()) {
      return s;
    }
    if (page > kMaxImageBytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat(in("page_size"), ": a page needs more than ",
                       kMaxImageBytes >> 20, " MiB"));
    }
    if (absl::Status s = Take(in("offset"), pool.offset + pool.row_bytes, 1, 1);
        !s.ok()) {
      return s;
    }
    // Rows or pages that overlap end past pages * page_stride.
    const std::int64_t last_page_end =
        (pool.pages - 1) * pool.page_stride + pool.page_bytes();
    pool.bytes.resize(pool.offset +
                      std::max(pool.pages * pool.page_stride, last_page_end));
    FillPool(p.fill(), NextPoison(), pool);
    for (int i = 0; i < p.patches_size(); ++i) {
      if (absl::Status s = CheckPatch(absl::StrCat(where, ".patches[", i, "]"),
                                      p.patches(i), pool);
          !s.ok()) {
        return s;
      }
      ApplyPatch(p.patches(i), pool);
    }
    return absl::OkStatus();
  }

  static absl::Status CheckPatch(absl::string_view where, const Patch& patch,
                                 const PoolImage& pool) {
    if (patch.slot() >= static_cast<std::uint64_t>(pool.slots())) {
      return Bad(absl::StrCat(where, ".slot"),
                 absl::StrCat(patch.slot(), " is past the pool's ",
                              pool.slots(), " slots"));
    }
    if (patch.at() + static_cast<std::uint64_t>(patch.data().size()) >
        static_cast<std::uint64_t>(pool.row_bytes)) {
      return Bad(absl::StrCat(where, ".data"),
                 absl::StrCat("bytes ", patch.at(), " to ",
                              patch.at() + patch.data().size(),
                              " do not fit into a row of ", pool.row_bytes));
    }
    return absl::OkStatus();
  }

  absl::Status BuildStep(int i) {
    const std::string where = absl::StrCat("steps[", i, "]");
    const absl::Status s = BuildCall(i, where);
    if (s.ok() || absl::StartsWith(s.message(), where)) return s;
    // Of a tensor that is too large.
    return {s.code(), absl::StrCat(where, ", ", s.message())};
  }

  absl::Status BuildCall(int i, const std::string& where) {
    const Step& step = case_.steps(i);
    image_.steps.emplace_back();
    StepImage& out = image_.steps.back();
    out.step = &step;
    switch (step.call_case()) {
      case Step::kWrite:
        out.kernel = Kernel::kWriter;
        return BuildWrite(where, step.write(), out);
      case Step::kGather:
        out.kernel = Kernel::kGather;
        return BuildGather(where, step.gather(), out);
      case Step::kConvert:
        out.kernel = Kernel::kConvert;
        return BuildConvert(where, step.convert(), out);
      case Step::kDecode:
        out.kernel = Kernel::kDecode;
        return BuildDecode(where, step.decode(), out);
      case Step::kPatch:
        out.is_patch = true;
        return CheckPatch(absl::StrCat(where, ".patch"), step.patch(),
                          image_.pool);
      case Step::CALL_NOT_SET:
        break;
    }
    return Bad(where, "holds no call");
  }

  // Adds a tensor whose storage is poison. `align`: the element-0 address is an
  // odd multiple of this wherever that is a choice.
  absl::StatusOr<Tensor*> Add(StepImage& step, TensorId id, DType dtype,
                              std::int64_t rows, std::int64_t columns,
                              std::int64_t stride, bool output,
                              std::size_t align) {
    const int size = DTypeSize(dtype);
    if (rows > kMaxExtent || columns > kMaxExtent || stride > kMaxExtent) {
      return absl::ResourceExhaustedError(
          absl::StrCat(TensorName(id), ": is too large"));
    }
    if (absl::Status s =
            Take(TensorName(id), rows, std::max(stride, columns), size);
        !s.ok()) {
      return s;
    }
    step.tensors.emplace_back();
    Tensor& t = step.tensors.back();
    t.id = id;
    t.dtype = dtype;
    t.output = output;
    t.ndim = 2;
    t.shape = {rows, columns};
    t.strides = {stride, 1};
    const ValueGenerator poison = NextPoison();
    t.misalignment = align * (2 * poison.Below(1u << 20, 8) + 1) % 256;
    t.bytes.resize(
        rows == 0 || columns == 0 ? 0 : ((rows - 1) * stride + columns) * size);
    FillBytes(poison, t.bytes.data(), t.bytes.size());
    return &t;
  }

  // A one-dimensional input with the given elements.
  template <typename T, typename List>
  absl::Status AddList(StepImage& step, TensorId id, DType dtype,
                       const List& list) {
    absl::StatusOr<Tensor*> t =
        Add(step, id, dtype, 1, list.size(), list.size(), false, sizeof(T));
    if (!t.ok()) return t.status();
    (*t)->ndim = 1;
    (*t)->shape = {static_cast<std::int64_t>(list.size()), 0};
    (*t)->strides = {1, 1};
    T* out = reinterpret_cast<T*>((*t)->bytes.data());
    for (const auto& value : list) *out++ = static_cast<T>(value);
    return absl::OkStatus();
  }

  absl::Status AddValues(absl::string_view where, StepImage& step, TensorId id,
                         DType dtype, const Values& values, std::int64_t rows,
                         std::int64_t used_rows, std::int64_t columns,
                         std::uint32_t stride, std::uint32_t offset,
                         int tile = kTileValues) {
    if (!Values::Pattern_IsValid(values.pattern())) {
      return Bad(absl::StrCat(where, ".pattern"), "is not known");
    }
    absl::StatusOr<Tensor*> t = Add(step, id, dtype, rows, columns,
                                    stride ? stride : columns, false, 16);
    if (!t.ok()) return t.status();
    Tensor& tensor = **t;
    const int size = DTypeSize(dtype);
    tensor.misalignment = static_cast<std::size_t>(offset) * size % 256;
    const std::int64_t count = std::min(rows, used_rows) * columns;
    if (size == 2) {
      CopyRows(ExpandValues(values, dtype == F16 ? F16 : BF16, count, tile),
               columns, tensor);
    } else {
      CopyRows(ExpandFp32Values(values, count, tile), columns, tensor);
    }
    return absl::OkStatus();
  }

  // Rows without gaps into those of a tensor.
  template <typename T>
  static void CopyRows(const std::vector<T>& from, std::int64_t columns,
                       Tensor& tensor) {
    const auto count = static_cast<std::int64_t>(from.size());
    for (std::int64_t row = 0; row * columns < count; ++row) {
      std::memcpy(
          tensor.bytes.data() +
              row * tensor.strides[0] * static_cast<std::int64_t>(sizeof(T)),
          from.data() + row * columns,
          static_cast<std::size_t>(columns) * sizeof(T));
    }
  }

  absl::Status BuildWrite(const std::string& where, const Write& w,
                          StepImage& out) {
    const DType dtype = w.input() == DTYPE_UNSPECIFIED ? BF16 : w.input();
    if (dtype != BF16 && dtype != F16 && dtype != F32) {
      return Bad(where + ".write.input", "must be BF16, F16 or F32");
    }
    const std::int64_t tokens =
        std::max<std::int64_t>(w.slots().count(), w.slots().values_size());
    const std::int64_t rows =
        std::max<std::int64_t>(0, tokens + w.surplus_rows());
    if (absl::Status s = Take(where + ".write.slots", tokens, 8, 1); !s.ok()) {
      return s;
    }
    out.tensors.reserve(3);
    const std::int64_t latent =
        w.latent_dim() ? w.latent_dim() : layout_->codes;
    if (absl::Status s =
            AddValues(where + ".write.kv_c", out, TensorId::kKvC, dtype,
                      w.kv_c(), rows, tokens, latent, w.kv_c_row_stride(),
                      w.kv_c_offset(), layout_->tile);
        !s.ok()) {
      return s;
    }
    if (w.pe_dim() != 0) {
      if (absl::Status s = AddValues(where + ".write.k_pe", out, TensorId::kKPe,
                                     dtype, w.k_pe(), rows, tokens, w.pe_dim(),
                                     w.k_pe_row_stride(), w.k_pe_offset());
          !s.ok()) {
        return s;
      }
    }
    return AddList<std::int64_t>(
        out, TensorId::kSlotMapping, I64,
        ExpandIntegers(w.slots(), tokens, image_.pool.slots()));
  }

  absl::Status AddTable(const std::string& where, const Table& table,
                        StepImage& out) {
    const std::int64_t columns = table.columns();
    if (table.row_stride() != 0 && table.row_stride() < columns) {
      return Bad(where + ".row_stride",
                 absl::StrCat(table.row_stride(), " is less than the ", columns,
                              " columns"));
    }
    const std::int64_t rows = table.rows();
    const std::int64_t stored_rows = table.expanded() ? (rows > 0) : rows;
    absl::StatusOr<Tensor*> added =
        Add(out, TensorId::kBlockTable, I32, stored_rows, columns,
            table.row_stride() ? table.row_stride() : columns, false, 4);
    if (!added.ok()) return added.status();
    Tensor& t = **added;
    t.shape[0] = rows;
    if (table.expanded()) t.strides[0] = 0;
    std::int32_t* entries = reinterpret_cast<std::int32_t*>(t.bytes.data());
    // What a wider table holds past the view: page numbers of others.
    for (std::size_t i = 0; i < t.bytes.size() / 4; ++i) {
      entries[i] = static_cast<std::int32_t>(
          static_cast<std::uint32_t>(entries[i]) % image_.pool.pages);
    }
    const std::int64_t total = stored_rows * columns;
    const std::int64_t given =
        std::min(total, std::max<std::int64_t>(table.pages().count(),
                                               table.pages().values_size()));
    const std::vector<std::int64_t> pages =
        ExpandIntegers(table.pages(), given, image_.pool.pages);
    const std::int64_t step = table.expanded() ? 0 : t.strides[0];
    for (std::int64_t i = 0; i < total; ++i) {
      entries[i / columns * step + i % columns] =
          i < given ? static_cast<std::int32_t>(pages[i]) : -1;
    }
    return absl::OkStatus();
  }

  absl::Status BuildGather(const std::string& where, const Gather& g,
                           StepImage& out) {
    out.tensors.reserve(6);
    const DType dtype =
        g.output() == DTYPE_UNSPECIFIED ? layout_->dst_dtype() : g.output();
    if (!DType_IsValid(dtype))
      return Bad(where + ".gather.output", "is not known");
    const std::int64_t columns =
        g.dst_columns() ? g.dst_columns() : layout_->dst_columns();
    absl::StatusOr<Tensor*> dst =
        Add(out, TensorId::kDst, dtype, g.dst_rows(), columns,
            g.dst_row_stride() ? g.dst_row_stride() : columns, true, 16);
    if (!dst.ok()) return dst.status();
    if (layout_->copied) {
      absl::StatusOr<Tensor*> scales =
          Add(out, TensorId::kDstScales, F32, g.dst_rows(), layout_->tiles(),
              layout_->tiles(), true, 16);
      if (!scales.ok()) return scales.status();
    }
    if (absl::Status s =
            AddTable(where + ".gather.block_table", g.block_table(), out);
        !s.ok()) {
      return s;
    }
    if (absl::Status s = AddList<std::int32_t>(out, TensorId::kWorkspaceStarts,
                                               I32, g.workspace_starts());
        !s.ok()) {
      return s;
    }
    if (g.seq_lens_size() > 0) {
      if (absl::Status s =
              AddList<std::int32_t>(out, TensorId::kSeqLens, I32, g.seq_lens());
          !s.ok()) {
        return s;
      }
    }
    if (g.seq_starts_size() > 0) {
      return AddList<std::int32_t>(out, TensorId::kSeqStarts, I32,
                                   g.seq_starts());
    }
    return absl::OkStatus();
  }

  absl::Status AddIndices(const std::string& where, StepImage& out, TensorId id,
                          const Indices& indices) {
    const std::int64_t rows = indices.rows();
    const std::int64_t width = indices.width();
    if (!Indices::Place_IsValid(indices.place()) ||
        !Indices::Pad_IsValid(indices.pad())) {
      return Bad(where, "place or pad is not known");
    }
    if (indices.row_stride() != 0 && indices.row_stride() < width) {
      return Bad(where + ".row_stride",
                 absl::StrCat(indices.row_stride(), " is less than the width ",
                              width));
    }
    absl::StatusOr<Tensor*> added =
        Add(out, id, I32, rows, width,
            indices.row_stride() ? indices.row_stride() : width, false, 4);
    if (!added.ok()) return added.status();
    Tensor& t = **added;
    const std::vector<std::int32_t> values = ExpandIndices(indices);
    for (std::int64_t row = 0; row < rows && width > 0; ++row) {
      std::memcpy(t.bytes.data() + row * t.strides[0] * 4,
                  values.data() + row * width, width * 4);
    }
    return absl::OkStatus();
  }

  absl::Status BuildConvert(const std::string& where, const Convert& c,
                            StepImage& out) {
    out.tensors.reserve(7);
    const Indices& indices = c.token_indices();
    const std::int64_t rows = indices.rows();
    const std::int64_t width = indices.width();
    if (c.out_row_stride() != 0 && c.out_row_stride() < width) {
      return Bad(
          where + ".convert.out_row_stride",
          absl::StrCat(c.out_row_stride(), " is less than the width ", width));
    }
    if (absl::Status s =
            AddTable(where + ".convert.block_table", c.block_table(), out);
        !s.ok()) {
      return s;
    }
    const std::int64_t requests =
        std::max<std::int64_t>(0, rows + c.surplus_requests());
    if (absl::Status s = Take(where + ".convert.request_ids", requests, 8, 1);
        !s.ok()) {
      return s;
    }
    if (absl::Status s = AddList<std::int32_t>(
            out, TensorId::kRequestIds, I32,
            ExpandIntegers(c.request_ids(), requests, c.block_table().rows()));
        !s.ok()) {
      return s;
    }
    if (absl::Status s = AddIndices(where + ".convert.token_indices", out,
                                    TensorId::kTokenIndices, indices);
        !s.ok()) {
      return s;
    }
    absl::StatusOr<Tensor*> result =
        Add(out, TensorId::kOut, I32, rows, width,
            c.out_row_stride() ? c.out_row_stride() : width, true, 4);
    if (!result.ok()) return result.status();
    if (c.valid_count()) {
      absl::StatusOr<Tensor*> count =
          Add(out, TensorId::kValidCount, I32, 1, rows, rows, true, 4);
      if (!count.ok()) return count.status();
      (*count)->ndim = 1;
      (*count)->shape = {rows, 0};
      (*count)->strides = {1, 1};
    }
    return AddWorkspace(where, c, requests, out);
  }

  // The prefill request of each row, and where prefill requests begin.
  absl::Status AddWorkspace(const std::string& where, const Convert& c,
                            std::int64_t rows, StepImage& out) {
    if (c.prefill_request_ids_size() == 0 &&
        c.prefill_workspace_starts_size() == 0) {
      return absl::OkStatus();
    }
    if (c.prefill_request_ids_size() > rows) {
      return Bad(
          where + ".convert.prefill_request_ids",
          absl::StrCat(c.prefill_request_ids_size(), " for ", rows, " rows"));
    }
    std::vector<std::int32_t> ids(c.prefill_request_ids().begin(),
                                  c.prefill_request_ids().end());
    ids.resize(static_cast<std::size_t>(rows), -1);
    if (absl::Status s =
            AddList<std::int32_t>(out, TensorId::kPrefillIds, I32, ids);
        !s.ok()) {
      return s;
    }
    return AddList<std::int32_t>(out, TensorId::kPrefillStarts, I32,
                                 c.prefill_workspace_starts());
  }

  // A tensor [queries, heads, columns] with these strides; 0: dense. Heads lie
  // within their query's stride, so that nothing overlaps.
  absl::StatusOr<Tensor*> AddHeads(const std::string& where, StepImage& out,
                                   TensorId id, DType dtype, const Decode& d,
                                   std::int64_t columns,
                                   std::uint32_t head_stride,
                                   std::uint32_t query_stride, bool output) {
    const std::int64_t head = head_stride ? head_stride : columns;
    if (head < columns) {
      return Bad(where + "_head_stride",
                 absl::StrCat(head, " is less than the ", columns, " columns"));
    }
    const std::int64_t heads = d.heads();
    const std::int64_t query = query_stride ? query_stride : heads * head;
    const std::int64_t used = heads > 0 ? (heads - 1) * head + columns : 0;
    if (query < used) {
      return Bad(where + "_query_stride",
                 absl::StrCat(query, " is less than the ", used,
                              " elements of a query's heads"));
    }
    absl::StatusOr<Tensor*> t =
        Add(out, id, dtype, d.queries(), used, query, output, 16);
    if (!t.ok()) return t;
    (*t)->ndim = 3;
    (*t)->shape = {d.queries(), heads, columns};
    (*t)->strides = {query, head, 1};
    return t;
  }

  absl::Status BuildDecode(const std::string& where, const Decode& d,
                           StepImage& out) {
    out.tensors.reserve(9);
    if (!Values::Pattern_IsValid(d.q().pattern())) {
      return Bad(where + ".decode.q.pattern", "is not known");
    }
    const std::int64_t columns = 512 + static_cast<std::int64_t>(d.pe_dim());
    absl::StatusOr<Tensor*> q =
        AddHeads(where + ".decode.q", out, TensorId::kQ, BF16, d, columns,
                 d.q_head_stride(), d.q_query_stride(), false);
    if (!q.ok()) return q.status();
    const std::int64_t rows = std::int64_t{d.queries()} * d.heads();
    const std::vector<std::uint16_t> bits =
        ExpandValues(d.q(), BF16, static_cast<std::size_t>(rows * columns));
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t at = row / d.heads() * (*q)->strides[0] +
                              row % d.heads() * (*q)->strides[1];
      std::memcpy((*q)->bytes.data() + 2 * at, bits.data() + row * columns,
                  static_cast<std::size_t>(2 * columns));
    }
    if (absl::Status s = AddIndices(where + ".decode.indices", out,
                                    TensorId::kIndices, d.indices());
        !s.ok()) {
      return s;
    }
    if (d.lengths_size() > 0) {
      if (absl::Status s =
              AddList<std::int32_t>(out, TensorId::kLengths, I32, d.lengths());
          !s.ok()) {
        return s;
      }
    }
    if (d.sink_bits_size() > 0) {
      if (absl::Status s =
              AddList<std::uint32_t>(out, TensorId::kSinks, F32, d.sink_bits());
          !s.ok()) {
        return s;
      }
    }
    absl::StatusOr<Tensor*> attention =
        AddHeads(where + ".decode.out", out, TensorId::kAttention, BF16, d, 512,
                 d.out_head_stride(), d.out_query_stride(), true);
    if (!attention.ok()) return attention.status();
    if (d.lse_query_stride() != 0 && d.lse_query_stride() < d.heads()) {
      return Bad(where + ".decode.lse_query_stride",
                 absl::StrCat(d.lse_query_stride(), " is less than the ",
                              d.heads(), " heads"));
    }
    absl::StatusOr<Tensor*> lse =
        Add(out, TensorId::kLse, F32, d.queries(), d.heads(),
            d.lse_query_stride() ? d.lse_query_stride() : d.heads(), true, 4);
    if (!lse.ok() || !d.has_extra()) return lse.status();
    return AddExtra(where + ".decode.extra", d.extra(), out);
  }

  // A second cache and what names its rows.
  absl::Status AddExtra(const std::string& where, const ExtraCache& extra,
                        StepImage& out) {
    const Pool& pool = extra.pool();
    if (pool.layout() != LAYOUT_UNSPECIFIED &&
        TokenLayoutOf(pool.layout()).layout != layout_->layout) {
      return Bad(where + ".pool.layout", "is that of the first pool");
    }
    // Nothing of another owner's before page 0.
    if (absl::Status s = BuildPool(where + ".pool", pool, 0, out.extra);
        !s.ok()) {
      return s;
    }
    Tensor& cache = out.tensors.emplace_back();
    cache.id = TensorId::kExtraCache;
    cache.ndim = 3;
    cache.shape = {out.extra.pages, out.extra.page_size, out.extra.row_bytes};
    cache.strides = {out.extra.page_stride, out.extra.token_stride(), 1};
    cache.misalignment = pool.offset() % 256;
    cache.bytes = std::move(out.extra.bytes);
    out.extra.bytes.clear();
    if (absl::Status s = AddIndices(where + ".indices", out,
                                    TensorId::kExtraIndices, extra.indices());
        !s.ok()) {
      return s;
    }
    if (extra.lengths_size() == 0) return absl::OkStatus();
    return AddList<std::int32_t>(out, TensorId::kExtraLengths, I32,
                                 extra.lengths());
  }

  const Case& case_;
  const TokenLayout* layout_ = nullptr;
  ValueGenerator poison_;
  std::uint64_t next_stream_ = kPoisonOfPool;
  std::int64_t taken_ = 0;
  CaseImage image_;
};

}  // namespace

const char* KernelName(Kernel kernel) {
  switch (kernel) {
    case Kernel::kWriter:
      return "writer";
    case Kernel::kGather:
      return "gather";
    case Kernel::kConvert:
      return "convert";
    case Kernel::kDecode:
      return "decode";
  }
  return "?";
}

int DTypeSize(DType dtype) {
  switch (dtype) {
    case BF16:
    case F16:
      return 2;
    case F32:
    case I32:
      return 4;
    case I64:
      return 8;
    default:
      return 1;
  }
}

const char* DTypeName(DType dtype) {
  switch (dtype) {
    case U8:
      return "u8";
    case BF16:
      return "bf16";
    case F16:
      return "f16";
    case F32:
      return "f32";
    case I32:
      return "i32";
    case I64:
      return "i64";
    default:
      return "?";
  }
}

const char* TensorName(TensorId id) {
  switch (id) {
    case TensorId::kKvC:
      return "kv_c";
    case TensorId::kKPe:
      return "k_pe";
    case TensorId::kSlotMapping:
      return "slot_mapping";
    case TensorId::kDst:
      return "dst";
    case TensorId::kBlockTable:
      return "block_table";
    case TensorId::kWorkspaceStarts:
      return "workspace_starts";
    case TensorId::kSeqLens:
      return "seq_lens";
    case TensorId::kSeqStarts:
      return "seq_starts";
    case TensorId::kRequestIds:
      return "request_ids";
    case TensorId::kTokenIndices:
      return "token_indices";
    case TensorId::kOut:
      return "out";
    case TensorId::kValidCount:
      return "valid_count";
    case TensorId::kQ:
      return "q";
    case TensorId::kIndices:
      return "indices";
    case TensorId::kLengths:
      return "lengths";
    case TensorId::kSinks:
      return "sinks";
    case TensorId::kAttention:
      return "out";
    case TensorId::kLse:
      return "lse";
    case TensorId::kTrace:
      return "trace";
    case TensorId::kDstScales:
      return "dst_scales";
    case TensorId::kExtraCache:
      return "extra_cache";
    case TensorId::kExtraIndices:
      return "extra_indices";
    case TensorId::kExtraLengths:
      return "extra_lengths";
    case TensorId::kPrefillIds:
      return "prefill_request_ids";
    case TensorId::kPrefillStarts:
      return "prefill_workspace_starts";
  }
  return "?";
}

absl::StatusOr<CaseImage> BuildImage(const Case& c) {
  return Builder(c).Build();
}

void ApplyPatch(const Patch& patch, PoolImage& pool) {
  ApplyPatch(patch, pool, pool.bytes.data());
}

void ApplyPatch(const Patch& patch, const PoolImage& pool,
                std::uint8_t* bytes) {
  ForEachPart(pool, static_cast<std::int64_t>(patch.slot()), patch.at(),
              static_cast<std::int64_t>(patch.data().size()),
              [&](std::int64_t at, std::int64_t byte, std::int64_t count) {
                std::memcpy(bytes + at, patch.data().data() + byte - patch.at(),
                            static_cast<std::size_t>(count));
              });
}

}  // namespace mlafuzz
