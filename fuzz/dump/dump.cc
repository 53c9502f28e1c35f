#include "fuzz/dump/dump.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "corpus/token_layout.h"

namespace mlafuzz {
namespace {

// What a server could have, and what keeps products of these far from 2^63.
constexpr std::int64_t kMaxPageSize = 1 << 16;
constexpr std::int64_t kMaxPageBytes = std::int64_t{1} << 31;

absl::Status Bad(absl::string_view path, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", what));
}

// "entry [3, 17] at offset 1234 is 99"
std::string Entry(const IntTable& table, std::int64_t row,
                  std::int64_t column) {
  return absl::StrCat("entry [", row, ", ", column, "] at offset ",
                      table.ByteOf(row, column), " is ", table.At(row, column));
}

// The whole pool as one request, in order.
void ReadInOrder(Dump& dump) {
  dump.table.path = "the pages in order";
  dump.table.rows = 1;
  dump.table.columns = dump.cache.pages();
  dump.table.values.resize(static_cast<std::size_t>(dump.cache.pages()));
  for (std::int64_t page = 0; page < dump.cache.pages(); ++page) {
    dump.table.values[page] = page;
  }
}

// The pages that a request's length needs are there; the rest of its row may
// hold what an earlier request left.
absl::Status CheckRequest(const Dump& dump, std::int64_t request) {
  const IntTable& table = dump.table;
  const std::int64_t size = dump.cache.page_size();
  const std::int64_t needed = (dump.lengths[request] + size - 1) / size;
  for (std::int64_t column = 0; column < needed; ++column) {
    const std::int64_t page = table.At(request, column);
    if (page >= 0 && page < dump.cache.pages()) continue;
    return Bad(
        table.path,
        absl::StrCat(
            Entry(table, request, column),
            page < 0 ? ", no page, and request " : ", request ", request,
            " has ", dump.lengths[request], " tokens; the cache of ",
            dump.cache.pages(), " pages ends at offset ",
            dump.cache.file().data_at() + dump.cache.file().data_bytes()));
  }
  return absl::OkStatus();
}

absl::Status ReadRequests(const DumpFiles& files, Dump& dump) {
  const std::int64_t size = dump.cache.page_size();
  if (files.block_table.empty()) {
    if (!files.seq_lens.empty()) {
      return Bad("--seq-lens", "needs --block-table");
    }
    ReadInOrder(dump);
  } else {
    auto table =
        ReadIntTable(files.block_table, files.table_columns, "table-columns");
    if (!table.ok()) return table.status();
    dump.table = *std::move(table);
    dump.has_table = true;
  }
  if (!files.seq_lens.empty()) {
    auto lens = ReadIntTable(files.seq_lens, 0, "");
    if (!lens.ok()) return lens.status();
    if (lens->columns != 1 || lens->rows != dump.table.rows) {
      return Bad(files.seq_lens,
                 absl::StrCat("has ", lens->rows, " entries up to offset ",
                              lens->ByteOf(lens->rows, 0), ", the block table ",
                              dump.table.rows, " rows"));
    }
    for (std::int64_t i = 0; i < lens->rows; ++i) {
      const std::int64_t most = dump.table.columns * size;
      if (lens->At(i, 0) >= 0 && lens->At(i, 0) <= most) continue;
      return Bad(files.seq_lens,
                 absl::StrCat(Entry(*lens, i, 0), "; a row of ",
                              dump.table.columns, " pages holds 0 to ", most,
                              " tokens, the table's ends at offset ",
                              dump.table.ByteOf(i + 1, 0)));
    }
    dump.has_lengths = true;
    dump.lengths = std::move(lens->values);
  } else {
    for (std::int64_t request = 0; request < dump.table.rows; ++request) {
      std::int64_t pages = 0;
      while (pages < dump.table.columns && dump.table.At(request, pages) >= 0) {
        ++pages;
      }
      dump.lengths.push_back(pages * size);
    }
  }
  for (std::int64_t request = 0; request < dump.table.rows; ++request) {
    if (absl::Status s = CheckRequest(dump, request); !s.ok()) return s;
  }
  return absl::OkStatus();
}

// How many lanes of the rows of `indices` count.
absl::Status ReadLengths(const DumpFiles& files, const IntTable& indices,
                         Dump& dump) {
  if (files.lengths.empty()) return absl::OkStatus();
  if (dump.lane_counts.empty()) {
    auto counts = ReadIntTable(files.lengths, 0, "");
    if (!counts.ok()) return counts.status();
    for (std::int64_t row = 0; row < counts->rows; ++row) {
      if (counts->At(row, 0) >= 0 && counts->At(row, 0) <= indices.columns) {
        continue;
      }
      return Bad(files.lengths,
                 absl::StrCat(Entry(*counts, row, 0), "; a row of indices has ",
                              indices.columns, " lanes"));
    }
    dump.lane_counts = std::move(counts->values);
  }
  const auto rows = static_cast<std::int64_t>(dump.lane_counts.size());
  if (rows != indices.rows) {
    return Bad(files.lengths,
               absl::StrCat("has ", rows, " entries, ", indices.path, " ",
                            indices.rows, " rows"));
  }
  return absl::OkStatus();
}

// What a row says "none" by is -1: others are not refused, a kernel may get
// them, but somebody should know.
void CountNegatives(const IntTable& indices, Dump& dump) {
  for (std::int64_t row = 0; row < indices.rows; ++row) {
    const std::int64_t lanes = dump.LaneCount(row, indices.columns);
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      if (indices.At(row, lane) >= -1) continue;
      if (dump.other_negatives == 0) {
        dump.first_other_negative =
            absl::StrCat(indices.path, ": ", Entry(indices, row, lane));
      }
      ++dump.other_negatives;
    }
  }
}

absl::Status ReadSlots(const DumpFiles& files, Dump& dump) {
  auto slots = ReadIntTable(files.slots, files.topk, "topk");
  if (!slots.ok()) return slots.status();
  if (absl::Status s = ReadLengths(files, *slots, dump); !s.ok()) return s;
  const std::int64_t count = dump.cache.pages() * dump.cache.page_size();
  for (std::int64_t row = 0; row < slots->rows; ++row) {
    const std::int64_t lanes = dump.LaneCount(row, slots->columns);
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      if (slots->At(row, lane) < count) continue;
      return Bad(files.slots,
                 absl::StrCat(Entry(*slots, row, lane), ", past the pool's ",
                              count, " slots"));
    }
  }
  CountNegatives(*slots, dump);
  dump.slots = *std::move(slots);
  return absl::OkStatus();
}

absl::Status ReadTokens(const DumpFiles& files, Dump& dump) {
  if (!dump.has_table) return Bad("--token-indices", "needs --block-table");
  auto tokens = ReadIntTable(files.tokens, files.topk, "topk");
  if (!tokens.ok()) return tokens.status();
  if (absl::Status s = ReadLengths(files, *tokens, dump); !s.ok()) return s;
  if (files.request_ids.empty()) {
    // One token a request, as in a decode step.
    if (tokens->rows != dump.table.rows) {
      return Bad(files.tokens,
                 absl::StrCat("has ", tokens->rows, " rows, the block table ",
                              dump.table.rows,
                              "; say whose they are with --request-ids"));
    }
    for (std::int64_t i = 0; i < tokens->rows; ++i) {
      dump.request_ids.push_back(i);
    }
  } else {
    auto ids = ReadIntTable(files.request_ids, 0, "");
    if (!ids.ok()) return ids.status();
    if (ids->columns != 1 || ids->rows != tokens->rows) {
      return Bad(files.request_ids,
                 absl::StrCat("has ", ids->rows, " entries up to offset ",
                              ids->ByteOf(ids->rows, 0), ", the indices ",
                              tokens->rows, " rows"));
    }
    for (std::int64_t i = 0; i < ids->rows; ++i) {
      if (ids->At(i, 0) >= 0 && ids->At(i, 0) < dump.table.rows) continue;
      return Bad(files.request_ids,
                 absl::StrCat(Entry(*ids, i, 0), ", the block table has ",
                              dump.table.rows, " rows"));
    }
    dump.request_ids = std::move(ids->values);
  }
  for (std::int64_t row = 0; row < tokens->rows; ++row) {
    const std::int64_t length = dump.lengths[dump.request_ids[row]];
    const std::int64_t lanes = dump.LaneCount(row, tokens->columns);
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      if (tokens->At(row, lane) < length) continue;
      return Bad(files.tokens, absl::StrCat(Entry(*tokens, row, lane),
                                            ", request ", dump.request_ids[row],
                                            " has ", length, " tokens"));
    }
  }
  CountNegatives(*tokens, dump);
  dump.tokens = *std::move(tokens);
  return absl::OkStatus();
}

// A number of columns that nothing has, a file that belongs to another: a name
// was forgotten.
absl::Status CheckNames(const DumpFiles& files) {
  const bool indices = !files.slots.empty() || !files.tokens.empty();
  if (files.table_columns != 0 && files.block_table.empty()) {
    return Bad("--table-columns", "needs --block-table");
  }
  if (files.topk != 0 && !indices) {
    return Bad("--topk", "needs --token-indices or --slot-indices");
  }
  if (!files.lengths.empty() && !indices) {
    return Bad("--lengths", "needs --token-indices or --slot-indices");
  }
  if (!files.request_ids.empty() && files.tokens.empty()) {
    return Bad("--request-ids", "needs --token-indices");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CacheDump> CacheDump::Open(const DumpFiles& files) {
  auto file = ArrayFile::Open(files.cache, Element::kByte);
  if (!file.ok()) return file.status();
  CacheDump cache(*std::move(file));
  const TokenLayout& layout = TokenLayoutOf(files.layout);
  const std::vector<std::int64_t>& shape = cache.file_.shape();
  cache.layout_ = layout.layout;
  cache.token_bytes_ = layout.token_bytes;
  cache.row_part_ = layout.row_bytes;
  cache.row_stride_ =
      files.row_stride != 0 ? files.row_stride : layout.row_bytes;
  if (layout.split() && cache.row_stride_ != layout.row_bytes) {
    return Bad("--row-stride",
               absl::StrCat("a page of ", layout.name, " has its rows dense"));
  }
  if (cache.row_stride_ < layout.row_bytes ||
      cache.row_stride_ > kMaxPageBytes / kMaxPageSize) {
    return Bad("--row-stride",
               absl::StrCat("needs ", layout.row_bytes, " bytes or more for ",
                            layout.name, ", got ", cache.row_stride_));
  }
  cache.page_size_ = files.page_size;
  std::int64_t page_bytes = files.page_bytes;
  if (shape.size() == 3) {
    if (files.page_size != 0 && files.page_size != shape[1]) {
      return Bad(files.cache,
                 absl::StrCat("has pages of ", shape[1],
                              " tokens, --page-size says ", files.page_size));
    }
    cache.page_size_ = shape[1];
    const std::int64_t token =
        layout.split() ? layout.token_bytes : cache.row_stride_;
    if (shape[2] != token) {
      return Bad(files.cache,
                 absl::StrCat("has ", shape[2], " bytes a token, ", layout.name,
                              " has ", token,
                              layout.split() ? "" : " (see --row-stride)"));
    }
  }
  if (shape.size() >= 2) {
    std::int64_t own = 1;
    for (std::size_t i = 1; i < shape.size(); ++i) own *= shape[i];
    if (page_bytes != 0 && page_bytes != own) {
      return Bad(files.cache,
                 absl::StrCat("has pages of ", own,
                              " bytes, --page-bytes says ", page_bytes));
    }
    page_bytes = own;
  }
  if (cache.page_size_ < 1 || cache.page_size_ > kMaxPageSize) {
    return Bad("--page-size", absl::StrCat("needs 1 to ", kMaxPageSize,
                                           " tokens, got ", cache.page_size_));
  }
  const std::int64_t used =
      layout.split()
          ? cache.page_size_ * layout.token_bytes
          : (cache.page_size_ - 1) * cache.row_stride_ + layout.row_bytes;
  if (page_bytes == 0) {
    page_bytes = layout.split()
                     ? (used + layout.page_multiple - 1) /
                           layout.page_multiple * layout.page_multiple
                     : cache.page_size_ * cache.row_stride_;
  }
  if (page_bytes < used || page_bytes > kMaxPageBytes) {
    return Bad(files.cache, absl::StrCat("pages of ", page_bytes,
                                         " bytes: ", cache.page_size_,
                                         " tokens of ", layout.name, " need ",
                                         used, " to ", kMaxPageBytes));
  }
  cache.page_bytes_ = page_bytes;
  const std::int64_t bytes = cache.file_.data_bytes();
  cache.pages_ = bytes / page_bytes;
  const std::int64_t end = cache.file_.data_at() + cache.pages_ * page_bytes;
  if (bytes % page_bytes != 0) {
    return Bad(
        files.cache,
        absl::StrCat("is torn: ", cache.pages_, " pages of ", page_bytes,
                     " bytes end at offset ", end, ", ", bytes % page_bytes,
                     " bytes follow; dump it again, or correct "
                     "--layout, --page-size or --page-bytes"));
  }
  if (files.pages != 0 && files.pages != cache.pages_) {
    return Bad(files.cache,
               absl::StrCat("has ", cache.pages_, " pages, up to offset ", end,
                            "; --pages says ", files.pages));
  }
  if (cache.pages_ == 0) return Bad(files.cache, "is empty");
  return cache;
}

absl::Status CacheDump::ReadToken(std::int64_t slot,
                                  absl::Span<std::uint8_t> out) const {
  const std::int64_t at = slot / page_size_ * page_bytes_;
  const std::int64_t row = slot % page_size_;
  const std::size_t in_row = static_cast<std::size_t>(row_part_);
  if (absl::Status s = file_.Read(at + ByteInPage(row, 0), out.first(in_row));
      !s.ok()) {
    return s;
  }
  if (row_part_ == token_bytes_) return absl::OkStatus();
  return file_.Read(at + ByteInPage(row, row_part_), out.subspan(in_row));
}

absl::StatusOr<Dump> ReadDump(const DumpFiles& files) {
  if (absl::Status s = CheckNames(files); !s.ok()) return s;
  auto cache = CacheDump::Open(files);
  if (!cache.ok()) return cache.status();
  Dump dump(*std::move(cache));
  if (absl::Status s = ReadRequests(files, dump); !s.ok()) return s;
  if (!files.slots.empty()) {
    if (absl::Status s = ReadSlots(files, dump); !s.ok()) return s;
  }
  if (!files.tokens.empty()) {
    if (absl::Status s = ReadTokens(files, dump); !s.ok()) return s;
  }
  return dump;
}

}  // namespace mlafuzz
