#include "fuzz/dump/scan.h"

#include <algorithm>
#include <cstring>

#include "corpus/token_layout.h"

namespace mlafuzz {
namespace {

// Cases are few: of each kind the first places are enough.
constexpr std::uint64_t kPlacesOfAKind = 4;

// Which of a page's tokens some request holds, and one that does.
struct PageUse {
  std::int64_t rows = 0;
  std::int64_t request = 0;
  std::int64_t column = 0;
};

std::vector<PageUse> UsesOf(const Dump& dump) {
  std::vector<PageUse> uses(static_cast<std::size_t>(dump.cache.pages()));
  const std::int64_t size = dump.cache.page_size();
  for (std::int64_t request = 0; request < dump.table.rows; ++request) {
    const std::int64_t length = dump.lengths[request];
    for (std::int64_t column = 0; column * size < length; ++column) {
      PageUse& use = uses[dump.table.At(request, column)];
      const std::int64_t rows = std::min(size, length - column * size);
      if (rows > use.rows) use = {rows, request, column};
    }
  }
  return uses;
}

class Scanner {
 public:
  Scanner(const Dump& dump, Scan& scan)
      : cache_(dump.cache),
        layout_(TokenLayoutOf(dump.cache.layout())),
        scan_(scan) {}

  void Token(const std::uint8_t* page_bytes, std::int64_t page,
             std::int64_t row, const Scan::Place& place) {
    page_bytes_ = page_bytes;
    page_ = page;
    row_ = row;
    place_ = &place;
    ++scan_.tokens;
    nonzero_ = false;
    Codes();
    Scales();
    Padding();
    Rope();
    if (!nonzero_) ++scan_.zero_tokens;
  }

 private:
  // Bytes of the token from byte `at` on.
  const std::uint8_t* At(std::int64_t at) const {
    return page_bytes_ + cache_.ByteInPage(row_, at);
  }

  void Found(Oddity oddity, std::int64_t at) {
    Scan::Count& count = scan_.odd[static_cast<std::size_t>(oddity)];
    if (count.tokens == 0) {
      count.first_byte = cache_.ByteInFile(page_, row_, at);
      count.page = page_;
      count.row = row_;
    }
    if (count.tokens < kPlacesOfAKind) scan_.places.push_back(*place_);
    ++count.tokens;
  }

  void Codes() {
    const std::uint8_t* codes = At(0);
    // Without a branch an element: this is most of a dump's bytes.
    std::uint8_t any = 0;
    std::uint8_t nan = 0;
    for (int i = 0; i < layout_.codes; ++i) {
      any |= codes[i];
      nan |= static_cast<std::uint8_t>((codes[i] & 0x7f) == 0x7f);
    }
    nonzero_ |= any != 0;
    if (nan == 0) return;
    int first = 0;
    while ((codes[first] & 0x7f) != 0x7f) ++first;
    Found(Oddity::kNanCode, first);
  }

  void Scales() {
    std::int64_t bad = -1;
    for (int tile = 0; tile < layout_.tiles(); ++tile) {
      const std::int64_t at = layout_.scales_at + tile * layout_.scale_bytes;
      ++scan_.scales;
      if (layout_.ue8m0()) {
        const std::uint8_t byte = *At(at);
        ++scan_.powers_of_two;
        nonzero_ |= byte != 0;
        if (byte == 0xff && bad < 0) bad = at;
        continue;
      }
      std::uint32_t bits = 0;
      std::memcpy(&bits, At(at), 4);
      nonzero_ |= bits != 0;
      if ((bits & 0x7fffff) == 0 && bits != 0) ++scan_.powers_of_two;
      if (bits >= 0x7f800000 && bits != 0x80000000 && bad < 0) bad = at;
    }
    if (bad >= 0) Found(Oddity::kScale, bad);
  }

  // What is neither code nor scale nor rope.
  void Padding() {
    if (!layout_.split()) return;
    const std::int64_t end =
        layout_.scales_at + layout_.tiles() * layout_.scale_bytes;
    for (std::int64_t at = end; at < layout_.token_bytes; ++at) {
      if (*At(at) == 0) continue;
      nonzero_ = true;
      Found(Oddity::kPadding, at);
      return;
    }
  }

  void Rope() {
    if (layout_.rope == 0) return;
    const std::uint8_t* rope = At(layout_.rope_at);
    std::int64_t bad = -1;
    for (int i = 0; i < layout_.rope; ++i) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, rope + 2 * i, 2);
      nonzero_ |= bits != 0;
      if ((bits & 0x7f80) == 0x7f80 && bad < 0) bad = layout_.rope_at + 2 * i;
    }
    if (bad >= 0) Found(Oddity::kRopeNotFinite, bad);
  }

  const CacheDump& cache_;
  const TokenLayout& layout_;
  Scan& scan_;
  const std::uint8_t* page_bytes_ = nullptr;
  std::int64_t page_ = 0;
  std::int64_t row_ = 0;
  const Scan::Place* place_ = nullptr;
  bool nonzero_ = false;
};

}  // namespace

const char* OddityName(Oddity oddity) {
  switch (oddity) {
    case Oddity::kNanCode:
      return "NaN codes";
    case Oddity::kScale:
      return "a scale that is negative or not finite";
    case Oddity::kPadding:
      return "padding that is not zero";
    case Oddity::kRopeNotFinite:
      return "rope values that are not finite";
  }
  return "?";
}

absl::StatusOr<Scan> ScanTokens(const Dump& dump) {
  Scan scan;
  Scanner scanner(dump, scan);
  const std::vector<PageUse> uses = UsesOf(dump);
  std::vector<std::uint8_t> bytes(
      static_cast<std::size_t>(dump.cache.page_bytes()));
  for (std::int64_t page = 0; page < dump.cache.pages(); ++page) {
    const PageUse& use = uses[page];
    if (use.rows == 0) continue;
    if (absl::Status s = dump.cache.ReadPage(page, absl::MakeSpan(bytes));
        !s.ok()) {
      return s;
    }
    for (std::int64_t row = 0; row < use.rows; ++row) {
      scanner.Token(bytes.data(), page, row,
                    {use.request, use.column * dump.cache.page_size() + row});
    }
  }
  return scan;
}

}  // namespace mlafuzz
