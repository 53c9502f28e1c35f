#include "fuzz/dump/cases.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "corpus/codec.h"
#include "corpus/image.h"
#include "corpus/token_layout.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

constexpr std::size_t kMostBytes = 16 << 10;
constexpr int kPages = 12;

// Every byte of a token tells which it is: the token's number and place,
// hashed.
std::uint8_t ByteOf(std::int64_t slot, std::int64_t at) {
  const std::uint64_t word =
      static_cast<std::uint64_t>(slot * 1000 + at) * 0x9e3779b97f4a7c15u;
  return static_cast<std::uint8_t>(word >> 56);
}

std::string Write(const std::string& name, const std::string& bytes) {
  std::string path = absl::StrCat(::testing::TempDir(), "/cases_test.", name);
  EXPECT_TRUE(WriteFileAtomically(path, bytes).ok());
  return path;
}

std::string Ints(const std::vector<std::int32_t>& values) {
  std::string bytes(4 * values.size(), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// A dump of `layout` with three requests, two of which share their first page.
// Gaps between pages hold 0xee.
DumpFiles MakeDump(const TokenLayout& layout, int page_size) {
  DumpFiles files;
  files.layout = layout.layout;
  files.page_size = page_size;
  const std::int64_t used = std::int64_t{page_size} * layout.token_bytes;
  files.page_bytes = (used + layout.page_multiple - 1) / layout.page_multiple *
                         layout.page_multiple +
                     64 * layout.page_multiple;
  std::string bytes(static_cast<std::size_t>(kPages * files.page_bytes),
                    '\xee');
  for (std::int64_t slot = 0; slot < kPages * page_size; ++slot) {
    const std::int64_t row = slot % page_size;
    char* page = bytes.data() + slot / page_size * files.page_bytes;
    for (std::int64_t at = 0; at < layout.token_bytes; ++at) {
      const std::int64_t behind = layout.token_bytes - layout.row_bytes;
      const std::int64_t to = at < layout.row_bytes
                                  ? row * layout.row_bytes + at
                                  : page_size * layout.row_bytes +
                                        row * behind + at - layout.row_bytes;
      page[to] = static_cast<char>(ByteOf(slot, at));
    }
  }
  files.cache = Write(absl::StrCat(layout.name, ".cache"), bytes);
  files.table_columns = 4;
  files.block_table =
      Write("table", Ints({7, 3, 11, 0, 7, 9, 2, 5, 10, -1, -1, -1}));
  files.seq_lens =
      Write("lens", Ints({4 * page_size, 3 * page_size + 1, page_size - 1}));
  files.topk = 256;
  std::vector<std::int32_t> tokens(3 * 256, -1);
  for (int i = 0; i < 200; ++i) {
    tokens[i] = i * 7 % (4 * page_size);
    tokens[256 + 3 + i] = i * 5 % (3 * page_size + 1);
    tokens[512 + i] = i % (page_size - 1);
  }
  files.tokens = Write("tokens", Ints(tokens));
  return files;
}

std::vector<ImportedCase> Sample(const DumpFiles& files, int cases = 24) {
  const auto dump = ReadDump(files);
  EXPECT_TRUE(dump.ok()) << dump.status();
  if (!dump.ok()) return {};
  const auto scan = ScanTokens(*dump);
  EXPECT_TRUE(scan.ok()) << scan.status();
  SampleOptions options;
  options.cases = cases;
  options.most_bytes = kMostBytes;
  auto made = SampleCases(*dump, *scan, options);
  EXPECT_TRUE(made.ok()) << made.status();
  return made.ok() ? *std::move(made) : std::vector<ImportedCase>();
}

// Which of the dump's slots a slot of the case's pool holds; -1: nobody's
// bytes.
std::int64_t SlotInDump(const PoolImage& pool, std::int64_t slot,
                        std::int64_t slots) {
  for (std::int64_t of = 0; of < slots; ++of) {
    bool same = true;
    for (std::int64_t at = 0; same && at < pool.row_bytes; ++at) {
      same = pool.bytes[pool.ByteAt(slot, at)] == ByteOf(of, at);
    }
    if (same) return of;
  }
  return -1;
}

// The tokens of its requests that a gather reads, as slots of the dump, in the
// order of dst.
std::vector<std::int64_t> ReadByGather(const Case& c, std::int64_t slots) {
  const auto image = BuildImage(c);
  EXPECT_TRUE(image.ok()) << image.status();
  const Gather& gather = c.steps(0).gather();
  const Table& table = gather.block_table();
  const std::int64_t size = c.pool().page_size();
  std::vector<std::int64_t> read;
  for (std::uint32_t r = 0; r < table.rows(); ++r) {
    const int i = static_cast<int>(r);
    const std::int64_t begin = gather.workspace_starts(i);
    const std::int64_t end = i + 1 < gather.workspace_starts_size()
                                 ? gather.workspace_starts(i + 1)
                                 : gather.dst_rows();
    const std::int64_t first =
        i < gather.seq_starts_size() ? gather.seq_starts(i) : 0;
    for (std::int64_t k = 0; k < end - begin; ++k) {
      const std::int64_t token = first + k;
      const std::int64_t at = r * table.columns() + token / size;
      // Trailing pages that are -1 are left out.
      const std::int64_t page = at < table.pages().values_size()
                                    ? table.pages().values(static_cast<int>(at))
                                    : -1;
      EXPECT_GE(page, 0);
      read.push_back(page < 0 ? -1
                              : SlotInDump(image->pool,
                                           page * size + token % size, slots));
    }
  }
  return read;
}

// What a request's tokens are in the dump.
std::vector<std::int64_t> SlotsOfRequest(int request, int page_size) {
  const std::vector<std::vector<std::int64_t>> pages = {
      {7, 3, 11, 0}, {7, 9, 2, 5}, {10}};
  const std::int64_t lengths[] = {4 * page_size, 3 * page_size + 1,
                                  page_size - 1};
  std::vector<std::int64_t> slots;
  for (std::int64_t token = 0; token < lengths[request]; ++token) {
    slots.push_back(pages[request][token / page_size] * page_size +
                    token % page_size);
  }
  return slots;
}

// That [begin, end) stands somewhere in a request's tokens, one after another.
bool IsStretch(const std::vector<std::int64_t>& part, int page_size) {
  for (int request = 0; request < 3; ++request) {
    const auto all = SlotsOfRequest(request, page_size);
    if (std::search(all.begin(), all.end(), part.begin(), part.end()) !=
        all.end()) {
      return true;
    }
  }
  return false;
}

class OfEachLayout : public ::testing::TestWithParam<TokenLayout> {};

TEST_P(OfEachLayout, AGatherReadsTheDumpsOwnTokens) {
  for (const int page_size : {4, 64}) {
    const std::int64_t slots = kPages * page_size;
    int across = 0, gathers = 0;
    std::set<std::int64_t> seen;
    for (const ImportedCase& c : Sample(MakeDump(GetParam(), page_size))) {
      EXPECT_LE(CanonicalBinary(c.message).size(), kMostBytes) << c.where;
      if (c.kernel != Kernel::kGather) continue;
      ++gathers;
      EXPECT_EQ(c.message.pool().page_size(), page_size);
      const auto read = ReadByGather(c.message, slots);
      const Gather& gather = c.message.steps(0).gather();
      const std::int64_t second = gather.block_table().rows() > 1
                                      ? gather.workspace_starts(1)
                                      : gather.dst_rows();
      const std::vector<std::int64_t> parts[] = {
          {read.begin(), read.begin() + second},
          {read.begin() + second, read.end()}};
      for (const auto& part : parts) {
        EXPECT_TRUE(IsStretch(part, page_size)) << c.where;
        if (part.empty()) continue;
        across += part.front() / page_size != part.back() / page_size;
        seen.insert(part.begin(), part.end());
      }
    }
    EXPECT_GE(gathers, 8);
    // Page ends are where gathers go wrong.
    if (!GetParam().copied || page_size == 4) EXPECT_GE(across, 4);
    EXPECT_GE(seen.size(), 20u);
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, OfEachLayout,
                         ::testing::ValuesIn(TokenLayouts().begin(),
                                             TokenLayouts().end()),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

TEST(Cases, ADecodeNamesTheDumpsOwnSlots) {
  constexpr int kPageSize = 4;
  const DumpFiles files = MakeDump(TokenLayoutOf(FP8_DS_MLA), kPageSize);
  int decodes = 0;
  std::size_t keys = 0;
  for (const ImportedCase& c : Sample(files)) {
    if (c.kernel != Kernel::kDecode) continue;
    ++decodes;
    const auto image = BuildImage(c.message);
    ASSERT_TRUE(image.ok()) << image.status();
    const Indices& indices = c.message.steps(0).decode().indices();
    EXPECT_EQ(indices.width(), 64u);
    std::vector<std::int64_t> named;
    for (const SetIndex& set : indices.set()) {
      named.push_back(SlotInDump(image->pool, set.value(), kPages * kPageSize));
      EXPECT_GE(named.back(), 0) << c.where;
    }
    keys += named.size();
    // The rule by which MakeDump drew the tokens of each row.
    bool of_a_row = named.empty();
    const int steps[] = {7, 5, 1};
    for (int request = 0; request < 3 && !of_a_row; ++request) {
      const auto all = SlotsOfRequest(request, kPageSize);
      const auto n = static_cast<std::int64_t>(all.size());
      for (std::int64_t i = 0; i < 200 && !of_a_row; ++i) {
        of_a_row = true;
        for (std::size_t k = 0; k < named.size() && of_a_row; ++k) {
          const std::int64_t j = i + static_cast<std::int64_t>(k);
          of_a_row = named[k] == all[j * steps[request] % n];
        }
      }
    }
    EXPECT_TRUE(of_a_row) << c.where;
  }
  EXPECT_GE(decodes, 12);
  EXPECT_GE(keys, 200u);
}

// The numbers behind a word of a case's `where`, up to the next word.
std::vector<std::int64_t> NumbersBehind(const std::string& where,
                                        const std::string& word) {
  std::vector<std::int64_t> numbers;
  std::size_t at = where.find(word);
  EXPECT_NE(at, std::string::npos) << where;
  if (at == std::string::npos) return numbers;
  const std::string rest = where.substr(at + word.size());
  for (absl::string_view part : absl::StrSplit(rest, absl::ByAnyChar(", "))) {
    if (part.empty() || part == "s") continue;
    std::int64_t number = 0;
    if (!absl::SimpleAtoi(part, &number)) break;
    numbers.push_back(number);
  }
  return numbers;
}

TEST(Cases, AConversionGivesTheDumpsOwnSlots) {
  constexpr int kPageSize = 4;
  const DumpFiles files = MakeDump(TokenLayoutOf(DSV4_FOOTER_584), kPageSize);
  const auto dump = ReadDump(files);
  ASSERT_TRUE(dump.ok()) << dump.status();
  int conversions = 0;
  std::size_t lanes = 0;
  for (const ImportedCase& c : Sample(files)) {
    if (c.kernel != Kernel::kConvert) continue;
    ++conversions;
    const Convert& convert = c.message.steps(0).convert();
    const auto columns =
        static_cast<std::int64_t>(convert.block_table().columns());
    EXPECT_EQ(convert.token_indices().width(), 128u);
    const auto rows = NumbersBehind(c.where, "row");
    const auto first = NumbersBehind(c.where, "lanes ");
    const auto pages = NumbersBehind(c.where, "page");
    ASSERT_EQ(rows.size(), convert.token_indices().rows()) << c.where;
    ASSERT_FALSE(first.empty());
    std::map<std::uint32_t, std::int64_t> set;
    for (const SetIndex& index : convert.token_indices().set()) {
      set[index.at()] = index.value();
    }
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const int i = static_cast<int>(r);
      const std::int64_t request = i < convert.request_ids().values_size()
                                       ? convert.request_ids().values(i)
                                       : 0;
      for (std::uint32_t lane = 0; lane < 128; ++lane) {
        const std::int64_t token = dump->tokens->At(rows[r], first[0] + lane);
        const auto it = set.find(static_cast<std::uint32_t>(128 * r + lane));
        ASSERT_EQ(it == set.end(), token == -1) << c.where;
        if (token == -1) continue;
        const std::int64_t at = request * columns + it->second / kPageSize;
        ASSERT_LT(at, convert.block_table().pages().values_size());
        const std::int64_t page =
            convert.block_table().pages().values(static_cast<int>(at));
        ASSERT_LT(page, static_cast<std::int64_t>(pages.size())) << c.where;
        EXPECT_EQ(pages[page] * kPageSize + it->second % kPageSize,
                  dump->SlotOf(dump->request_ids[rows[r]], token))
            << c.where;
        ++lanes;
      }
    }
  }
  EXPECT_GE(conversions, 4);
  EXPECT_GE(lanes, 300u);
}

// A decode is told how many lanes count, and none of the others is live; what
// they hold are slots, as on a server.
TEST(Cases, ALengthLeavesStaleLanesBehindIt) {
  DumpFiles files = MakeDump(TokenLayoutOf(FP8_DS_MLA), 4);
  const std::vector<std::int32_t> counts = {150, 203, 5};
  files.lengths = Write("lengths", Ints(counts));
  // What an earlier, longer request left.
  auto bytes = ReadFile(files.tokens);
  ASSERT_TRUE(bytes.ok());
  for (std::size_t row = 0; row < counts.size(); ++row) {
    for (std::size_t lane = static_cast<std::size_t>(counts[row]); lane < 256;
         ++lane) {
      const std::int32_t stale = lane % 5 == 0 ? -1 : 100000;
      std::memcpy(bytes->data() + 4 * (256 * row + lane), &stale, 4);
    }
  }
  files.tokens = Write("stale tokens", *bytes);
  int decodes = 0, cut = 0, stale = 0;
  for (const ImportedCase& c : Sample(files)) {
    if (c.kernel == Kernel::kConvert) {
      for (const SetIndex& set :
           c.message.steps(0).convert().token_indices().set()) {
        EXPECT_LT(set.value(), 16) << c.where;
      }
    }
    if (c.kernel != Kernel::kDecode) continue;
    ++decodes;
    const Decode& decode = c.message.steps(0).decode();
    const auto slots = static_cast<std::int64_t>(c.message.pool().pages()) * 4;
    ASSERT_EQ(decode.lengths_size(), 1) << c.where;
    const auto rows = NumbersBehind(c.where, "row ");
    const std::int64_t first = NumbersBehind(c.where, "lanes ")[0] / 64 * 64;
    EXPECT_EQ(decode.lengths(0),
              std::clamp<std::int64_t>(counts[rows[0]] - first, 0, 64))
        << c.where;
    cut += decode.lengths(0) < 64;
    for (const SetIndex& set : decode.indices().set()) {
      EXPECT_LT(set.value(), slots) << c.where;
      stale += static_cast<std::int32_t>(set.at()) >= decode.lengths(0);
    }
  }
  EXPECT_GE(decodes, 8);
  EXPECT_GE(cut, 4);
  EXPECT_GE(stale, 40);
}

TEST(Cases, OneByteOfTheDumpIsOneByteOfTheCases) {
  const TokenLayout& layout = TokenLayoutOf(FP8_DS_MLA);
  DumpFiles files = MakeDump(layout, 4);
  const auto before = Sample(files);
  auto bytes = ReadFile(files.cache);
  ASSERT_TRUE(bytes.ok());
  // Page 7, row 1: the second token of two requests.
  const std::size_t at =
      static_cast<std::size_t>(7 * files.page_bytes + 656 + 100);
  (*bytes)[at] = static_cast<char>((*bytes)[at] ^ 0x10);
  files.cache = Write("damaged", *bytes);
  const auto after = Sample(files);
  ASSERT_EQ(before.size(), after.size());
  int changed = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto a = BuildImage(before[i].message);
    const auto b = BuildImage(after[i].message);
    ASSERT_TRUE(a.ok() && b.ok());
    int different = 0;
    for (std::size_t k = 0; k < a->pool.bytes.size(); ++k) {
      different += a->pool.bytes[k] != b->pool.bytes[k];
    }
    EXPECT_LE(different, 1) << before[i].where;
    changed += different;
  }
  EXPECT_GE(changed, 2);
}

TEST(Cases, TheSameSeedDrawsTheSame) {
  const DumpFiles files = MakeDump(TokenLayoutOf(INDEXER_132), 4);
  const auto a = Sample(files);
  const auto b = Sample(files);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(CaseId(a[i].message), CaseId(b[i].message));
  }
}

}  // namespace
}  // namespace mlafuzz
