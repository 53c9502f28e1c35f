#ifndef MLAFUZZ_FUZZ_DUMP_DUMP_H_
#define MLAFUZZ_FUZZ_DUMP_DUMP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "corpus/types.pb.h"
#include "fuzz/dump/array_file.h"

namespace mlafuzz {

// Where a server's dump lies and how it is to be read. Empty paths: not dumped.
struct DumpFiles {
  std::string cache;  // pages of bytes: .npy [pages, page_size, token bytes]
                      // or [pages, bytes], or raw
  Layout layout = FP8_DS_MLA;
  std::int64_t page_size = 0;   // tokens; 0: as the .npy file says
  std::int64_t page_bytes = 0;  // from page to page; 0: the layout's
  std::int64_t row_stride = 0;  // bytes from row to row; 0: the layout's
  std::int64_t pages = 0;       // that there must be; 0: as many as there are
  std::string block_table;      // int [requests, columns], page numbers
  std::int64_t table_columns = 0;  // of a raw one
  std::string seq_lens;            // int [requests], tokens in the cache
  std::string slots;               // int [rows, topk], pool slots
  std::string tokens;     // int [rows, topk], token numbers of their requests
  std::int64_t topk = 0;  // columns of a raw one of these
  // int [rows], of `slots` and `tokens`: how many lanes of each row count. What
  // stands in the others is what an earlier step left.
  std::string lengths;
  std::string request_ids;  // int [rows], of `tokens`
};

// The pages of a dump, read a token or a page at a time.
class CacheDump {
 public:
  // InvalidArgument with the offset of the tear for a file that is no whole
  // number of pages, or has fewer than it must.
  static absl::StatusOr<CacheDump> Open(const DumpFiles& files);

  Layout layout() const { return layout_; }
  std::int64_t pages() const { return pages_; }
  std::int64_t page_size() const { return page_size_; }
  std::int64_t page_bytes() const { return page_bytes_; }
  std::int64_t row_stride() const { return row_stride_; }
  std::int64_t token_bytes() const { return token_bytes_; }
  const ArrayFile& file() const { return file_; }

  // Where byte `at` of a token lies in its page: rows first, then what stands
  // behind all rows (corpus/token_layout.h).
  std::int64_t ByteInPage(std::int64_t row, std::int64_t at) const {
    return at < row_part_
               ? row * row_stride_ + at
               : page_size_ * row_part_ + row * (token_bytes_ - row_part_) +
                     at - row_part_;
  }
  // And in the file.
  std::int64_t ByteInFile(std::int64_t page, std::int64_t row,
                          std::int64_t at) const {
    return file_.data_at() + page * page_bytes_ + ByteInPage(row, at);
  }
  // token_bytes() bytes; those in its row first.
  absl::Status ReadToken(std::int64_t slot, absl::Span<std::uint8_t> out) const;
  // page_bytes() bytes.
  absl::Status ReadPage(std::int64_t page, absl::Span<std::uint8_t> out) const {
    return file_.Read(page * page_bytes_, out);
  }

 private:
  explicit CacheDump(ArrayFile file) : file_(std::move(file)) {}

  ArrayFile file_;
  Layout layout_ = FP8_DS_MLA;
  std::int64_t pages_ = 0;
  std::int64_t page_size_ = 0;
  std::int64_t page_bytes_ = 0;
  std::int64_t row_stride_ = 0;
  std::int64_t row_part_ = 0;
  std::int64_t token_bytes_ = 0;
};

// A dump whose parts agree: every page, slot and token that it names is there.
struct Dump {
  explicit Dump(CacheDump pages) : cache(std::move(pages)) {}

  CacheDump cache;
  // Of each request its pages and how many tokens they hold.
  IntTable table;
  std::vector<std::int64_t> lengths;
  bool has_table = false;    // else one request of all pages in order
  bool has_lengths = false;  // else all pages are taken as full
  std::optional<IntTable> slots;
  std::optional<IntTable> tokens;
  std::vector<std::int64_t> request_ids;  // of the rows of `tokens`
  // Of the rows of `slots` and `tokens`; empty: not dumped, all lanes count.
  std::vector<std::int64_t> lane_counts;
  // Entries of lanes that count and are negative but not -1, by which a row
  // says "none", and a sentence for the first of them.
  std::int64_t other_negatives = 0;
  std::string first_other_negative;

  // How many lanes of a row count; `columns` at most.
  std::int64_t LaneCount(std::int64_t row, std::int64_t columns) const {
    return lane_counts.empty() ? columns : lane_counts[row];
  }

  // The slot of a request's token; both are there.
  std::int64_t SlotOf(std::int64_t request, std::int64_t token) const {
    return table.At(request, token / cache.page_size()) * cache.page_size() +
           token % cache.page_size();
  }
};

// Reads all but the pages and checks that the parts agree: InvalidArgument
// names the file and the offset of the first entry that names what is not
// there, or the number of columns that belongs to no file.
absl::StatusOr<Dump> ReadDump(const DumpFiles& files);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_DUMP_DUMP_H_
