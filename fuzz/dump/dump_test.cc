#include "fuzz/dump/dump.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "fuzz/dump/array_file.h"
#include "fuzz/dump/scan.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

std::string Ints(const std::vector<std::int32_t>& values) {
  std::string bytes(4 * values.size(), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// As numpy.save writes it.
std::string Npy(const std::string& descr, const std::string& shape,
                const std::string& data, bool fortran = false) {
  std::string header = absl::StrCat(
      "{'descr': '", descr, "', 'fortran_order': ", fortran ? "True" : "False",
      ", 'shape': ", shape, ", }");
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  return bytes + header + data;
}

// A cache of four pages of two tokens, 656 bytes each, and two requests of
// three and two tokens.
class DumpTest : public ::testing::Test {
 public:
  DumpTest() {
    files_.page_size = 2;
    files_.cache = Write("cache", std::string(4 * 2 * 656, '\x30'));
    files_.table_columns = 2;
    files_.block_table = Write("table", Ints({3, 1, 2, 77}));
    files_.seq_lens = Write("lens", Ints({3, 2}));
    files_.topk = 3;
    files_.tokens = Write("tokens", Ints({0, 2, -1, 1, 0, -1}));
    files_.slots = Write("slots", Ints({7, 0, -1, 4, 5, -1}));
  }

  std::string Write(const std::string& name, const std::string& bytes) {
    std::string path = absl::StrCat(
        ::testing::TempDir(), "/",
        ::testing::UnitTest::GetInstance()->current_test_info()->name(), ".",
        name);
    EXPECT_TRUE(WriteFileAtomically(path, bytes).ok());
    return path;
  }

  std::string Error() const {
    const auto dump = ReadDump(files_);
    return dump.ok() ? "read" : std::string(dump.status().message());
  }

  DumpFiles files_;
};

TEST_F(DumpTest, PartsThatAgreeAreRead) {
  const auto dump = ReadDump(files_);
  ASSERT_TRUE(dump.ok()) << dump.status();
  EXPECT_EQ(dump->cache.pages(), 4);
  // The second request's second column is what an earlier one left.
  EXPECT_EQ(dump->SlotOf(0, 2), 2);
  EXPECT_EQ(dump->SlotOf(1, 1), 5);
  EXPECT_EQ(dump->request_ids, (std::vector<std::int64_t>{0, 1}));
}

TEST_F(DumpTest, ARawMatrixNeedsItsColumns) {
  files_.table_columns = 0;
  EXPECT_EQ(Error(), files_.block_table +
                         ": is raw and says no shape: say how many columns it "
                         "has with --table-columns=N, or save it as .npy");
  files_.table_columns = 2;
  files_.topk = 0;
  EXPECT_TRUE(absl::StrContains(Error(), files_.slots + ": is raw and"));
  EXPECT_TRUE(absl::StrContains(Error(), "--topk=N"));
  files_.slots.clear();
  EXPECT_TRUE(absl::StrContains(Error(), files_.tokens + ": is raw and"));
  // Lengths are a vector: there is nothing to say.
  files_.tokens.clear();
  EXPECT_EQ(Error(), "read");
}

TEST_F(DumpTest, NamesWithoutTheirFilesAreRefused) {
  DumpFiles files;
  files.cache = files_.cache;
  files.page_size = 2;
  const DumpFiles bare = files;
  const auto error = [](const DumpFiles& of) {
    const auto dump = ReadDump(of);
    return dump.ok() ? "read" : std::string(dump.status().message());
  };
  EXPECT_EQ(error(bare), "read");
  files.table_columns = 2;
  EXPECT_EQ(error(files), "--table-columns: needs --block-table");
  files = bare;
  files.topk = 2048;
  EXPECT_EQ(error(files), "--topk: needs --token-indices or --slot-indices");
  files = bare;
  files.lengths = Write("lengths", Ints({1, 1}));
  EXPECT_EQ(error(files), "--lengths: needs --token-indices or --slot-indices");
  files = bare;
  files.request_ids = Write("ids", Ints({0, 0}));
  EXPECT_EQ(error(files), "--request-ids: needs --token-indices");
}

// Behind a row's length stands what an earlier step left.
TEST_F(DumpTest, LanesBehindALengthAreNotLookedAt) {
  files_.tokens = Write("stale", Ints({0, 2, 900, 1, -7, 900}));
  files_.slots = Write("stale slots", Ints({7, 0, 8, 4, 8, 8}));
  EXPECT_TRUE(absl::StrContains(Error(), "past the pool's 8 slots"));
  files_.lengths = Write("lengths", Ints({2, 1}));
  auto dump = ReadDump(files_);
  ASSERT_TRUE(dump.ok()) << dump.status();
  EXPECT_EQ(dump->LaneCount(0, 3), 2);
  EXPECT_EQ(dump->LaneCount(1, 3), 1);
  EXPECT_EQ(dump->other_negatives, 0);

  files_.lengths = Write("long", Ints({2, 4}));
  EXPECT_TRUE(absl::StrContains(
      Error(), ".long: entry [1, 0] at offset 4 is 4; a row of indices has 3"))
      << Error();
  files_.lengths = Write("negative", Ints({-1, 1}));
  EXPECT_TRUE(absl::StrContains(Error(), "entry [0, 0] at offset 0 is -1"));
  files_.lengths = Write("three", Ints({1, 1, 1}));
  EXPECT_TRUE(absl::StrContains(Error(), ".three: has 3 entries, "));
  files_.lengths = Write("torn", Ints({1, 1}).substr(0, 7));
  EXPECT_TRUE(absl::StrContains(Error(), ".torn: is torn")) << Error();
}

TEST_F(DumpTest, NegativesThatAreNotMinusOneAreCounted) {
  files_.tokens = Write("negatives", Ints({0, -2, -1, -9, 0, -1}));
  files_.slots = "";
  const auto dump = ReadDump(files_);
  ASSERT_TRUE(dump.ok()) << dump.status();
  EXPECT_EQ(dump->other_negatives, 2);
  EXPECT_TRUE(absl::EndsWith(dump->first_other_negative,
                             ".negatives: entry [0, 1] at offset 4 is -2"))
      << dump->first_other_negative;
}

TEST_F(DumpTest, WithoutATableThePagesAreOneRequest) {
  DumpFiles files;
  files.page_size = 2;
  files.cache = files_.cache;
  const auto dump = ReadDump(files);
  ASSERT_TRUE(dump.ok()) << dump.status();
  EXPECT_EQ(dump->lengths, (std::vector<std::int64_t>{8}));
  EXPECT_EQ(dump->SlotOf(0, 5), 5);
}

TEST_F(DumpTest, NpyFilesSayTheirShapes) {
  files_.page_size = 0;
  files_.table_columns = 0;
  files_.topk = 0;
  files_.cache =
      Write("cache.npy", Npy("|u1", "(4, 2, 656)", std::string(5248, '\x30')));
  files_.block_table =
      Write("table.npy", Npy("<i4", "(2, 2)", Ints({3, 1, 2, 77})));
  files_.seq_lens = Write("lens.npy", Npy("<i4", "(2,)", Ints({3, 2})));
  files_.slots.clear();
  files_.tokens =
      Write("tokens.npy", Npy("<i8", "(2, 1)", Ints({2, 0, -1, -1})));
  const auto dump = ReadDump(files_);
  ASSERT_TRUE(dump.ok()) << dump.status();
  EXPECT_EQ(dump->cache.page_size(), 2);
  EXPECT_EQ(dump->tokens->At(0, 0), 2);
  EXPECT_EQ(dump->tokens->At(1, 0), -1);
}

TEST_F(DumpTest, ATornFileIsRefusedWithTheOffsetOfTheTear) {
  struct Torn {
    const char* what;
    std::function<void(DumpTest&)> tear;
    std::vector<const char*> words;
  };
  using T = DumpTest;
  const std::vector<Torn> cases = {
      {"cache cut within a page",
       [](T& t) {
         t.files_.cache = t.Write("c", std::string(3 * 1312 + 100, '\0'));
       },
       {".c: is torn: 3 pages of 1312 bytes end at offset 3936, 100 bytes"}},
      {"cache cut between pages",
       [](T& t) { t.files_.cache = t.Write("c", std::string(3936, '\0')); },
       {".table: entry [0, 0] at offset 0 is 3",
        "3 pages ends at offset 3936"}},
      {"fewer pages than there must be",
       [](T& t) { t.files_.pages = 5; },
       {"has 4 pages, up to offset 5248; --pages says 5"}},
      {"no cache",
       [](T& t) { t.files_.cache = t.Write("c", ""); },
       {".c: is empty"}},
      {"cache that is not there",
       [](T& t) { t.files_.cache = "/no/such/file"; },
       {"/no/such/file: cannot open"}},
      {"table cut within a row",
       [](T& t) { t.files_.block_table = t.Write("t", Ints({3, 1, 2})); },
       {".t: is torn: 1 rows of 2 entries end at offset 8, 4 bytes follow"}},
      {"table of fewer requests",
       [](T& t) { t.files_.block_table = t.Write("t", Ints({3, 1})); },
       {".lens: has 2 entries up to offset 8, the block table 1 rows"}},
      {"table too narrow for a length",
       [](T& t) { t.files_.seq_lens = t.Write("l", Ints({3, 5})); },
       {".l: entry [1, 0] at offset 4 is 5", "0 to 4 tokens",
        "the table's ends at offset 16"}},
      {"negative length",
       [](T& t) { t.files_.seq_lens = t.Write("l", Ints({3, -2})); },
       {".l: entry [1, 0] at offset 4 is -2"}},
      {"page past the pool",
       [](T& t) { t.files_.block_table = t.Write("t", Ints({3, 4, 2, 0})); },
       {".t: entry [0, 1] at offset 4 is 4", "ends at offset 5248"}},
      {"no page where a length needs one",
       [](T& t) { t.files_.block_table = t.Write("t", Ints({3, -1, 2, 0})); },
       {".t: entry [0, 1] at offset 4 is -1, no page"}},
      {"slot past the pool",
       [](T& t) { t.files_.slots = t.Write("s", Ints({7, 0, 8})); },
       {".s: entry [0, 2] at offset 8 is 8, past the pool's 8 slots"}},
      {"slots cut",
       [](T& t) { t.files_.slots = t.Write("s", Ints({7, 0, 1, 1})); },
       {".s: is torn: 1 rows of 3 entries end at offset 12, 4 bytes follow"}},
      {"token past its request",
       [](T& t) { t.files_.tokens = t.Write("k", Ints({0, 2, -1, 2, 0, 0})); },
       {".k: entry [1, 0] at offset 12 is 2, request 1 has 2 tokens"}},
      {"rows of nobody",
       [](T& t) { t.files_.tokens = t.Write("k", Ints({0, 2, -1})); },
       {"has 1 rows, the block table 2; say whose they are with "
        "--request-ids"}},
      {"request past the table",
       [](T& t) { t.files_.request_ids = t.Write("r", Ints({0, 2})); },
       {".r: entry [1, 0] at offset 4 is 2, the block table has 2 rows"}},
      {"npy cut",
       [](T& t) {
         t.files_.cache =
             t.Write("n", Npy("|u1", "(4, 2, 656)", std::string(5000, 'x')));
       },
       {".n: its .npy header says 5248 bytes", "up to offset 5376",
        "the file ends at 5128"}},
      {"npy of another layout",
       [](T& t) {
         t.files_.cache =
             t.Write("n", Npy("|u1", "(4, 2, 528)", std::string(4224, 'x')));
       },
       {".n: has 528 bytes a token, row656 has 656"}},
      {"npy of floats",
       [](T& t) {
         t.files_.cache =
             t.Write("n", Npy("<f4", "(4,)", std::string(16, 'x')));
       },
       {"'<f4', not bytes; save x.view(torch.uint8)"}},
      {"npy in Fortran order",
       [](T& t) {
         t.files_.cache = t.Write(
             "n", Npy("|u1", "(4, 2, 656)", std::string(5248, 'x'), true));
       },
       {"is not in C order"}},
      {"npy header cut",
       [](T& t) {
         t.files_.cache =
             t.Write("n", Npy("|u1", "(4, 2, 656)", "").substr(0, 60));
       },
       {".n: its .npy header of 118 bytes does not end within",
        "dump it again"}},
      {"npy header of nothing but its front",
       [](T& t) {
         t.files_.cache =
             t.Write("n", Npy("|u1", "(4, 2, 656)", "").substr(0, 9));
       },
       {".n: begins as .npy does and ends within its header, after 9 bytes: "
        "dump it again"}},
      {"lengths whose npy header is of zeros from the middle on",
       [](T& t) {
         std::string header = Npy("<i4", "(2,)", std::string(8, 1));
         const std::size_t at = header.find("'fortran_order'");
         std::fill(header.begin() + at, header.end() - 8, 0);
         t.files_.seq_lens = t.Write("l", header);
       },
       {".l: its .npy header is cut short or damaged, it has no "
        "fortran_order: dump it again"}},
      {"no page size",
       [](T& t) { t.files_.page_size = 0; },
       {"--page-size: needs 1 to 65536 tokens, got 0"}},
      {"page too short for its rows",
       [](T& t) { t.files_.page_bytes = 1311; },
       {"pages of 1311 bytes: 2 tokens of row656 need 1312"}},
      {"lengths without a table",
       [](T& t) {
         t.files_.block_table.clear();
         t.files_.table_columns = 0;
       },
       {"--seq-lens: needs --block-table"}},
  };
  const DumpFiles whole = files_;
  ASSERT_EQ(Error(), "read");
  for (const Torn& torn : cases) {
    files_ = whole;
    torn.tear(*this);
    const std::string error = Error();
    for (const char* words : torn.words) {
      EXPECT_TRUE(absl::StrContains(error, words))
          << torn.what << "\n  said: " << error << "\n  not: " << words;
    }
  }
}

TEST_F(DumpTest, AFileThatIsCutWhileItIsReadIsAnError) {
  auto file = ArrayFile::Open(files_.cache, Element::kByte);
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(truncate(files_.cache.c_str(), 1000), 0);
  std::vector<std::uint8_t> bytes(5248);
  const absl::Status s = file->Read(0, absl::MakeSpan(bytes));
  EXPECT_TRUE(absl::IsDataLoss(s));
  EXPECT_TRUE(absl::StrContains(s.message(), "ends at offset 1000 now")) << s;
}

TEST_F(DumpTest, WhatNoWriterLeavesIsCountedWithItsOffset) {
  std::string bytes(4 * 2 * 656, '\x30');
  const float one = 1;
  for (int token = 0; token < 8; ++token) {
    for (int tile = 0; tile < 4; ++tile) {
      std::memcpy(bytes.data() + token * 656 + 512 + 4 * tile, &one, 4);
    }
  }
  const float negative = -0.25F;
  bytes[2 * 656 + 17] = '\x7f';  // page 1, row 0: of request 0
  std::memcpy(&bytes[7 * 656 + 516], &negative, 4);  // page 3, row 1
  bytes[3 * 656 + 5] = '\x7f';                       // page 1, row 1: nobody's
  bytes[0] = '\x7f';                                 // page 0: nobody's
  files_.cache = Write("odd", bytes);
  const auto dump = ReadDump(files_);
  ASSERT_TRUE(dump.ok()) << dump.status();
  const auto scan = ScanTokens(*dump);
  ASSERT_TRUE(scan.ok()) << scan.status();
  EXPECT_EQ(scan->tokens, 5u);
  EXPECT_EQ(scan->scales, 20u);
  EXPECT_EQ(scan->powers_of_two, 20u);
  EXPECT_EQ(scan->zero_tokens, 0u);
  const Scan::Count& nan = scan->odd[static_cast<int>(Oddity::kNanCode)];
  EXPECT_EQ(nan.tokens, 1u);
  EXPECT_EQ(nan.first_byte, 2 * 656 + 17);
  const Scan::Count& scale = scan->odd[static_cast<int>(Oddity::kScale)];
  EXPECT_EQ(scale.tokens, 1u);
  EXPECT_EQ(scale.first_byte, 7 * 656 + 516);
  EXPECT_EQ(scan->odd[static_cast<int>(Oddity::kRopeNotFinite)].tokens, 0u);
  ASSERT_EQ(scan->places.size(), 2u);
  EXPECT_EQ(scan->places[0].token, 2);  // of request 0: page 1 is its second
  EXPECT_EQ(scan->places[1].token, 1);
}

TEST_F(DumpTest, FootersAreReadBehindTheRows) {
  DumpFiles files;
  files.layout = DSV4_FOOTER_584;
  files.page_size = 4;
  // 4 * 584 bytes, padded to 2880.
  std::string bytes(2 * 2880, '\x30');
  for (int page = 0; page < 2; ++page) {
    for (int row = 0; row < 4; ++row) {
      bytes[page * 2880 + 4 * 576 + row * 8 + 7] = '\0';
    }
  }
  bytes[2880 + 4 * 576 + 2 * 8 + 3] = '\xff';  // page 1, row 2, scale 3
  bytes[4 * 576 + 1 * 8 + 7] = '\x01';         // page 0, row 1, padding
  files.cache = Write("footer", bytes);
  const auto dump = ReadDump(files);
  ASSERT_TRUE(dump.ok()) << dump.status();
  const auto scan = ScanTokens(*dump);
  ASSERT_TRUE(scan.ok());
  const Scan::Count& scale = scan->odd[static_cast<int>(Oddity::kScale)];
  EXPECT_EQ(scale.tokens, 1u);
  EXPECT_EQ(scale.first_byte, 2880 + 4 * 576 + 2 * 8 + 3);
  const Scan::Count& padding = scan->odd[static_cast<int>(Oddity::kPadding)];
  EXPECT_EQ(padding.tokens, 1u);
  EXPECT_EQ(padding.first_byte, 4 * 576 + 1 * 8 + 7);
}

}  // namespace
}  // namespace mlafuzz
