#include "fuzz/dump/cases.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "corpus/codec.h"
#include "corpus/token_layout.h"
#include "corpus/value_generator.h"

namespace mlafuzz {
namespace {

// Bytes of a case beside its tokens: two requests' rows of a table, or the
// lanes of a decode; and of a patch beside its data.
constexpr std::size_t kOtherBytes = 1024;
constexpr std::size_t kPatchBytes = 16;
// What kernels take as a width: vLLM's conversion 128, decodes 64.
constexpr std::int64_t kConvertLanes = 128;
constexpr std::int64_t kDecodeLanes = 64;
// 1/sqrt(576), fp32.
constexpr std::uint32_t kSoftmaxScaleBits = 0x3d2aaaab;
// Draws for each case that is wanted, until they are new.
constexpr int kTries = 8;

// [first, end) of a request's tokens.
struct Stretch {
  std::int64_t request = 0;
  std::int64_t first = 0;
  std::int64_t end = 0;
};

// Pages of a dump, renumbered in their order there.
class LocalPages {
 public:
  explicit LocalPages(const std::set<std::int64_t>& pages)
      : pages_(pages.begin(), pages.end()) {}
  std::int64_t Of(std::int64_t page) const {
    return std::lower_bound(pages_.begin(), pages_.end(), page) -
           pages_.begin();
  }
  std::int64_t count() const {
    return static_cast<std::int64_t>(pages_.size());
  }
  std::string Text() const {
    constexpr std::size_t kShown = 8;
    return absl::StrCat(
        pages_.size() == 1 ? "page " : "pages ",
        absl::StrJoin(pages_.begin(),
                      pages_.begin() + static_cast<std::ptrdiff_t>(
                                           std::min(kShown, pages_.size())),
                      ", "),
        pages_.size() > kShown ? ", ..." : "");
  }

 private:
  std::vector<std::int64_t> pages_;
};

class Sampler {
 public:
  Sampler(const Dump& dump, const Scan& scan, const SampleOptions& options)
      : dump_(dump),
        cache_(dump.cache),
        layout_(TokenLayoutOf(dump.cache.layout())),
        scan_(scan),
        options_(options),
        words_(options.seed) {
    const std::size_t token =
        static_cast<std::size_t>(layout_.token_bytes) + kPatchBytes;
    const std::size_t bytes =
        std::max(options.most_bytes, kOtherBytes + 2 * token) - kOtherBytes;
    tokens_ = static_cast<std::int64_t>(bytes / token);
    for (std::int64_t i = 0; i < dump.table.rows; ++i) {
      if (dump.lengths[i] > 0) held_.push_back(i);
    }
  }

  absl::StatusOr<std::vector<ImportedCase>> Run() {
    for (int i = 0; i < kTries * options_.cases; ++i) {
      if (!held_.empty() && Wanted(Kernel::kGather)) Take(Gathered(i));
      if (dump_.tokens.has_value() && Wanted(Kernel::kConvert)) {
        Take(Converted(i));
      }
      if (HasDecodes() && Wanted(Kernel::kDecode)) Take(Decoded(i));
      if (!error_.ok()) return error_;
    }
    return std::move(cases_);
  }

 private:
  // A number below `n` for purpose `id` of case `i`.
  std::int64_t Draw(int i, std::uint64_t id, std::int64_t n) const {
    return words_.Stream(static_cast<std::uint64_t>(i))
        .Below(id, static_cast<std::uint32_t>(std::max<std::int64_t>(n, 1)));
  }

  void Take(absl::StatusOr<ImportedCase> made) {
    if (!made.ok()) {
      error_.Update(made.status());
      return;
    }
    Canonicalise(made->message);
    if (const auto image = BuildImage(made->message); !image.ok()) {
      error_.Update(absl::Status(
          image.status().code(),
          absl::StrCat(made->where, " make no case: ", image.status().message(),
                       "; see --page-size and --page-bytes")));
      return;
    }
    // Small dumps give the same piece more than once.
    if (ids_.insert(CaseId(made->message)).second) {
      ++taken_[made->kernel];
      cases_.push_back(*std::move(made));
    }
  }

  bool Wanted(Kernel kernel) const {
    const auto it = taken_.find(kernel);
    return it == taken_.end() || it->second < options_.cases;
  }

  // ---- the pool

  // The pool with `slots` of the dump as they are there, and nothing else.
  absl::Status AddPool(const LocalPages& pages,
                       const std::set<std::int64_t>& slots, Case& c) const {
    Pool& pool = *c.mutable_pool();
    pool.set_layout(cache_.layout());
    pool.set_page_size(static_cast<std::uint32_t>(cache_.page_size()));
    pool.set_pages(static_cast<std::uint32_t>(pages.count()));
    if (cache_.row_stride() != layout_.row_bytes) {
      pool.set_row_stride(static_cast<std::uint32_t>(cache_.row_stride()));
    }
    // A .npy file of a strided cache has no padding behind its pages; the
    // server had the layout's.
    const std::int64_t plain =
        layout_.split() ? (cache_.page_size() * layout_.token_bytes +
                           layout_.page_multiple - 1) /
                              layout_.page_multiple * layout_.page_multiple
                        : cache_.page_size() * cache_.row_stride();
    if (cache_.page_bytes() > plain) {
      pool.set_page_stride(static_cast<std::uint64_t>(cache_.page_bytes()));
    }
    std::vector<std::uint8_t> bytes(
        static_cast<std::size_t>(layout_.token_bytes));
    for (const std::int64_t slot : slots) {
      if (absl::Status s = cache_.ReadToken(slot, absl::MakeSpan(bytes));
          !s.ok()) {
        return s;
      }
      Patch& patch = *pool.add_patches();
      patch.set_slot(static_cast<std::uint64_t>(Local(pages, slot)));
      patch.set_data(bytes.data(), bytes.size());
    }
    return absl::OkStatus();
  }

  std::int64_t Local(const LocalPages& pages, std::int64_t slot) const {
    return pages.Of(slot / cache_.page_size()) * cache_.page_size() +
           slot % cache_.page_size();
  }

  // ---- gather

  // The stretch of `want` tokens at most that case i has as its part-th.
  Stretch StretchOf(int i, int part, std::int64_t want) const {
    const std::uint64_t id = 10 * static_cast<std::uint64_t>(part);
    Stretch s;
    std::int64_t first = 0;
    const std::size_t places = scan_.places.size();
    const std::size_t place =
        static_cast<std::size_t>(layout_.copied ? i : 2 * i + part);
    if (place < places && (!layout_.copied || part == 0)) {
      s.request = scan_.places[place].request;
      first = scan_.places[place].token - want / 2;
    } else {
      s.request = held_[Draw(i, id, static_cast<std::int64_t>(held_.size()))];
      const std::int64_t length = dump_.lengths[s.request];
      const std::int64_t page = cache_.page_size();
      switch ((i + part) % 4) {
        case 0:  // across the end of a page
          first = (1 + Draw(i, id + 1, (length - 1) / page)) * page - want / 2;
          break;
        case 1:
          first = length - want;
          break;
        case 2:
          first = 0;
          break;
        default:
          first = Draw(i, id + 1, length - want + 1);
      }
    }
    const std::int64_t length = dump_.lengths[s.request];
    first = std::clamp<std::int64_t>(first, 0,
                                     std::max<std::int64_t>(0, length - want));
    // A gather that copies begins with a page.
    if (layout_.copied) first -= first % cache_.page_size();
    s.first = first;
    s.end = std::min(length, first + want);
    return s;
  }

  absl::StatusOr<ImportedCase> Gathered(int i) const {
    std::vector<Stretch> stretches;
    // One that must begin with a page reaches further by itself.
    const int parts = layout_.copied && i % 2 == 0 ? 1 : 2;
    for (int part = 0; part < parts; ++part) {
      stretches.push_back(StretchOf(i, part, tokens_ / parts));
    }
    std::set<std::int64_t> pages, slots;
    const std::int64_t size = cache_.page_size();
    std::int64_t columns = 1;
    for (const Stretch& s : stretches) {
      columns = std::max(columns, (s.end - 1) / size - s.first / size + 1);
      for (std::int64_t token = s.first; token < s.end; ++token) {
        slots.insert(dump_.SlotOf(s.request, token));
        pages.insert(dump_.table.At(s.request, token / size));
      }
    }
    const LocalPages local(pages);
    ImportedCase made;
    made.kernel = Kernel::kGather;
    Gather& gather = *made.message.add_steps()->mutable_gather();
    Table& table = *gather.mutable_block_table();
    table.set_rows(static_cast<std::uint32_t>(stretches.size()));
    table.set_columns(static_cast<std::uint32_t>(columns));
    std::int64_t row = 0;
    bool from_begin = true;
    for (const Stretch& s : stretches) {
      gather.add_workspace_starts(static_cast<std::int32_t>(row));
      row += s.end - s.first;
      from_begin &= s.first % size == 0;
      for (std::int64_t column = 0; column < columns; ++column) {
        const std::int64_t of = s.first / size + column;
        table.mutable_pages()->add_values(
            of * size < s.end ? local.Of(dump_.table.At(s.request, of)) : -1);
      }
    }
    if (layout_.copied) {
      gather.add_workspace_starts(static_cast<std::int32_t>(row));
    } else if (!from_begin) {
      for (const Stretch& s : stretches) {
        gather.add_seq_starts(static_cast<std::int32_t>(s.first % size));
      }
    }
    gather.set_dst_rows(static_cast<std::uint32_t>(row));
    if (absl::Status s = AddPool(local, slots, made.message); !s.ok()) return s;
    made.where =
        absl::StrJoin(stretches, "; ", [](std::string* out, const Stretch& s) {
          absl::StrAppend(out, "request ", s.request, ", tokens ", s.first,
                          " to ", s.end - 1);
        });
    absl::StrAppend(&made.where, "; ", local.Text());
    return made;
  }

  // ---- rows of indices

  // A row of `indices`, one with values where there is one near.
  std::int64_t DrawRow(int i, std::uint64_t id, const IntTable& indices) const {
    std::int64_t row = Draw(i, id, indices.rows);
    for (std::int64_t tried = 0; tried < 64 && LanesOf(indices, row) == 0;
         ++tried) {
      row = (row + 1) % indices.rows;
    }
    return row;
  }

  // Of those that count, up to the last one that holds a value.
  std::int64_t LanesOf(const IntTable& indices, std::int64_t row) const {
    std::int64_t lanes = dump_.LaneCount(row, indices.columns);
    while (lanes > 0 && indices.At(row, lanes - 1) < 0) --lanes;
    return lanes;
  }

  // The first of `width` lanes, a multiple of it: one case in eight takes lanes
  // that may hold nothing.
  std::int64_t DrawLanes(int i, std::uint64_t id, const IntTable& indices,
                         std::int64_t row, std::int64_t width) const {
    const std::int64_t all = indices.columns / width;
    const std::int64_t used = (LanesOf(indices, row) + width - 1) / width;
    return Draw(i, id, i % 8 == 7 ? all : std::min(all, used)) * width;
  }

  // ---- convert

  // Of a lane that does not count, what an earlier step left may be no token of
  // this request.
  std::int64_t TokenAt(std::int64_t row, std::int64_t lane) const {
    const IntTable& tokens = *dump_.tokens;
    const std::int64_t token = tokens.At(row, lane);
    const bool counts = lane < dump_.LaneCount(row, tokens.columns);
    return counts || token < dump_.lengths[dump_.request_ids[row]] ? token : -1;
  }

  absl::StatusOr<ImportedCase> Converted(int i) const {
    const IntTable& tokens = *dump_.tokens;
    const std::int64_t size = cache_.page_size();
    const std::int64_t width = std::min(tokens.columns, kConvertLanes);
    std::vector<std::int64_t> rows = {DrawRow(i, 100, tokens)};
    if (tokens.rows > 1 && i % 2 == 1) {
      rows.push_back((rows[0] + 1) % tokens.rows);
    }
    const std::int64_t first = DrawLanes(i, 101, tokens, rows[0], width);
    // The requests and the columns of their tables that these lanes use.
    std::set<std::int64_t> requests, columns;
    for (const std::int64_t row : rows) {
      requests.insert(dump_.request_ids[row]);
      for (std::int64_t lane = first; lane < first + width; ++lane) {
        const std::int64_t token = TokenAt(row, lane);
        if (token >= 0) columns.insert(token / size);
      }
    }
    // A table has columns, also where no lane needs one.
    if (columns.empty()) columns.insert(0);
    const LocalPages column_numbers(columns);
    const LocalPages request_numbers(requests);
    std::set<std::int64_t> pages;
    for (const std::int64_t request : requests) {
      for (const std::int64_t column : columns) {
        if (column * size < dump_.lengths[request]) {
          pages.insert(dump_.table.At(request, column));
        }
      }
    }
    // Of a request without tokens.
    if (pages.empty()) pages.insert(0);
    const LocalPages local(pages);
    ImportedCase made;
    made.kernel = Kernel::kConvert;
    Pool& pool = *made.message.mutable_pool();
    // A conversion reads no pool: of this one it has the page size, and as many
    // pages as its table names.
    pool.set_page_size(static_cast<std::uint32_t>(size));
    pool.set_pages(static_cast<std::uint32_t>(local.count()));
    pool.mutable_fill();
    Convert& convert = *made.message.add_steps()->mutable_convert();
    Table& table = *convert.mutable_block_table();
    table.set_rows(static_cast<std::uint32_t>(requests.size()));
    table.set_columns(static_cast<std::uint32_t>(columns.size()));
    for (const std::int64_t request : requests) {
      for (const std::int64_t column : columns) {
        table.mutable_pages()->add_values(
            column * size < dump_.lengths[request]
                ? local.Of(dump_.table.At(request, column))
                : -1);
      }
    }
    Indices& indices = *convert.mutable_token_indices();
    indices.set_rows(static_cast<std::uint32_t>(rows.size()));
    indices.set_width(static_cast<std::uint32_t>(width));
    for (std::size_t r = 0; r < rows.size(); ++r) {
      convert.mutable_request_ids()->add_values(
          request_numbers.Of(dump_.request_ids[rows[r]]));
      for (std::int64_t lane = 0; lane < width; ++lane) {
        const std::int64_t token = TokenAt(rows[r], first + lane);
        const std::int64_t value =
            token < 0 ? token
                      : column_numbers.Of(token / size) * size + token % size;
        Set(indices, static_cast<std::int64_t>(r) * width + lane, value);
      }
    }
    made.where = absl::StrCat(rows.size() == 1 ? "row " : "rows ",
                              absl::StrJoin(rows, ", "), ", lanes ", first,
                              " to ", first + width - 1, "; ", local.Text());
    return made;
  }

  static void Set(Indices& indices, std::int64_t at, std::int64_t value) {
    if (value == -1) return;  // what a lane without a value holds
    SetIndex& set = *indices.add_set();
    set.set_at(static_cast<std::uint32_t>(at));
    set.set_value(static_cast<std::int32_t>(value));
  }

  // ---- decode

  bool HasDecodes() const {
    return cache_.layout() == FP8_DS_MLA &&
           (dump_.slots.has_value() || dump_.tokens.has_value());
  }

  // The slot that a lane names; negative ones as they are.
  std::int64_t SlotAt(std::int64_t row, std::int64_t lane) const {
    if (dump_.slots.has_value()) return dump_.slots->At(row, lane);
    const std::int64_t token = dump_.tokens->At(row, lane);
    return token < 0 ? token : dump_.SlotOf(dump_.request_ids[row], token);
  }

  absl::StatusOr<ImportedCase> Decoded(int i) const {
    const IntTable& of = dump_.slots.has_value() ? *dump_.slots : *dump_.tokens;
    const std::int64_t width = std::min(of.columns, kDecodeLanes);
    const std::int64_t row = DrawRow(i, 200, of);
    const std::int64_t chunk = DrawLanes(i, 201, of, row, width);
    // Of these lanes, how many count.
    const std::int64_t length = std::clamp<std::int64_t>(
        dump_.LaneCount(row, of.columns) - chunk, 0, width);
    const std::int64_t begin = Draw(i, 202, length - tokens_ + 1);
    std::set<std::int64_t> pages, slots;
    std::int64_t end = begin;
    for (; end < length; ++end) {
      const std::int64_t slot = SlotAt(row, chunk + end);
      if (slot < 0) continue;
      if (static_cast<std::int64_t>(slots.size()) == tokens_ &&
          slots.count(slot) == 0) {
        break;
      }
      slots.insert(slot);
      pages.insert(slot / cache_.page_size());
    }
    if (pages.empty()) pages.insert(0);
    const LocalPages local(pages);
    ImportedCase made;
    made.kernel = Kernel::kDecode;
    Decode& decode = *made.message.add_steps()->mutable_decode();
    decode.set_queries(1);
    decode.set_heads(options_.heads);
    decode.set_pe_dim(64);
    decode.set_softmax_scale_bits(kSoftmaxScaleBits);
    decode.mutable_q()->set_pattern(Values::NORMAL_RANGE);
    decode.mutable_q()->set_seed(
        words_.Stream(static_cast<std::uint64_t>(i)).Word(203));
    Indices& indices = *decode.mutable_indices();
    indices.set_rows(1);
    indices.set_width(static_cast<std::uint32_t>(width));
    for (std::int64_t lane = begin; lane < end; ++lane) {
      const std::int64_t slot = SlotAt(row, chunk + lane);
      Set(indices, lane, slot < 0 ? slot : Local(local, slot));
    }
    if (!dump_.lane_counts.empty()) {
      decode.add_lengths(static_cast<std::int32_t>(length));
      // What stands behind is somebody else's slot: one of the case, so that
      // whoever reads it is seen to.
      auto stale = slots.begin();
      for (std::int64_t lane = length; lane < width; ++lane) {
        const std::int64_t left = of.At(row, chunk + lane);
        if (stale == slots.end()) stale = slots.begin();
        Set(indices, lane,
            left < 0        ? left
            : slots.empty() ? 0
                            : Local(local, *stale++));
      }
    }
    if (absl::Status s = AddPool(local, slots, made.message); !s.ok()) return s;
    made.where =
        absl::StrCat("row ", row, ", lanes ", chunk + begin, " to ",
                     chunk + std::max(begin, end - 1), "; ", local.Text());
    return made;
  }

  const Dump& dump_;
  const CacheDump& cache_;
  const TokenLayout& layout_;
  const Scan& scan_;
  const SampleOptions& options_;
  ValueGenerator words_;
  std::int64_t tokens_ = 0;         // that a case can carry
  std::vector<std::int64_t> held_;  // requests that hold tokens
  std::set<std::string> ids_;
  std::map<Kernel, int> taken_;
  std::vector<ImportedCase> cases_;
  absl::Status error_;
};

}  // namespace

absl::StatusOr<std::vector<ImportedCase>> SampleCases(
    const Dump& dump, const Scan& scan, const SampleOptions& options) {
  return Sampler(dump, scan, options).Run();
}

}  // namespace mlafuzz
