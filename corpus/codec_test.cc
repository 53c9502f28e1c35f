#include "corpus/codec.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "corpus/image.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

constexpr char kText[] = R"(
pool { page_size: 4 pages: 2 fill { byte: 0xa5 } }
steps { write { slots { values: [3, -1] } pe_dim: 64
  kv_c { pattern: OCTAVES seed: 7 set { at: 5 bits: 0x3f80 } } } }
)";

Case Parse(const std::string& text) {
  absl::StatusOr<Case> c = ParseCaseText(text);
  EXPECT_TRUE(c.ok()) << c.status();
  return c.ok() ? *c : Case();
}

std::string Error(const absl::StatusOr<Case>& c) {
  return c.ok() ? "" : std::string(c.status().message());
}
std::string Error(const absl::Status& s) { return std::string(s.message()); }

TEST(Codec, TextGoesThereAndBack) {
  const Case c = Parse(kText);
  const std::string text = FormatCaseText(c);
  EXPECT_TRUE(absl::StrContains(text, "bits: 0x3f80")) << text;
  EXPECT_TRUE(absl::StrContains(text, "byte: 0x00a5")) << text;
  EXPECT_EQ(Parse(text).SerializeAsString(), c.SerializeAsString());
}

// Of every kind of fill, under every class of scales.
TEST(Codec, CanonicalCasesHaveTheSameBytes) {
  for (int kind = Fill::Kind_MIN; kind <= Fill::Kind_MAX; ++kind) {
    for (int scales = Fill::Scales_MIN; scales <= Fill::Scales_MAX; ++scales) {
      for (const Layout layout : {FP8_DS_MLA, DSV4_FOOTER_584}) {
        Case c;
        Pool& pool = *c.mutable_pool();
        pool.set_layout(layout);
        pool.set_page_size(4);
        pool.set_pages(2);
        Fill& fill = *pool.mutable_fill();
        fill.set_kind(static_cast<Fill::Kind>(kind));
        fill.set_scales(static_cast<Fill::Scales>(scales));
        fill.set_seed(7);
        fill.set_byte(0x5a);
        Case canonical = c;
        Canonicalise(canonical);
        const absl::StatusOr<CaseImage> image = BuildImage(c);
        const absl::StatusOr<CaseImage> same = BuildImage(canonical);
        ASSERT_TRUE(image.ok() && same.ok());
        EXPECT_EQ(image->pool.bytes, same->pool.bytes)
            << Fill::Kind_Name(kind) << " " << Fill::Scales_Name(scales);
      }
    }
  }
}

// A second cache: what is plain of a pool is plain of it too.
TEST(Codec, ExtraCacheIsCanonicalLikeThePool) {
  const auto with = [](const std::string& pool, const std::string& indices) {
    return Parse(absl::StrCat(
        "pool { layout: DSV4_FOOTER_584 page_size: 1 pages: 1 } steps { decode "
        "{ queries: 1 heads: 1 indices { rows: 1 width: 2 } softmax_scale_bits:"
        " 0x3f800000 extra { pool { page_size: 2 pages: 1 ",
        pool, " } indices { rows: 1 width: 3 ", indices, " } } } }"));
  };
  const Case plain = with("", "");
  EXPECT_EQ(CaseId(with("page_stride: 1728 row_bytes: 584", "row_stride: 3")),
            CaseId(plain));
  EXPECT_EQ(CaseId(with("layout: DSV4_FOOTER_584 offset: 512", "")),
            CaseId(plain));
  EXPECT_NE(CaseId(with("page_stride: 1200", "")), CaseId(plain));
  Case without = plain;
  without.mutable_steps(0)->mutable_decode()->clear_extra();
  EXPECT_NE(CaseId(without), CaseId(plain));
  const absl::StatusOr<CaseImage> image = BuildImage(plain);
  ASSERT_TRUE(image.ok()) << image.status();
  const StepImage& step = image->steps[0];
  EXPECT_EQ(step.extra.page_stride, 1728);
  EXPECT_EQ(step.Find(TensorId::kExtraCache)->bytes.size(), 1728u);
  EXPECT_TRUE(step.extra.bytes.empty());
  EXPECT_EQ(Error(BuildImage(with("layout: NOPE_ROW_528", "")).status()),
            "steps[0].decode.extra.pool.layout: is that of the first pool");
  EXPECT_EQ(Error(BuildImage(with("fill { byte: 256 }", "")).status()),
            "steps[0].decode.extra.pool.fill.byte: is not a byte");
}

TEST(Codec, BothFormsAreRecognised) {
  const Case c = Parse(kText);
  EXPECT_TRUE(ParseCase(kText).ok());
  absl::StatusOr<Case> binary = ParseCase(c.SerializeAsString());
  ASSERT_TRUE(binary.ok());
  EXPECT_EQ(binary->SerializeAsString(), c.SerializeAsString());
}

TEST(Codec, WrongFieldIsNamedWithItsPlace) {
  const std::string error =
      Error(ParseCaseText("pool { page_size: 4\n  pagez: 2 }"));
  EXPECT_TRUE(absl::StrContains(error, "pagez")) << error;
  EXPECT_TRUE(absl::StrContains(error, "line 2, column 8")) << error;
}

TEST(Codec, TruncatedBinaryIsRefused) {
  const std::string whole = Parse(kText).SerializeAsString();
  int refused = 0;
  for (std::size_t n = 1; n < whole.size(); ++n) {
    refused += !ParseCaseBinary(whole.substr(0, n)).ok();
  }
  // Cut between two top-level fields it is a shorter message.
  EXPECT_EQ(refused, static_cast<int>(whole.size()) - 2);
}

TEST(Codec, UnknownFieldNumberIsNamed) {
  std::string bytes = Parse(kText).SerializeAsString();
  bytes += std::string("\xf8\x01\x07", 3);  // field 31, varint 7
  const std::string error = Error(ParseCaseBinary(bytes));
  EXPECT_TRUE(absl::StrContains(error, "31")) << error;
  EXPECT_TRUE(absl::StrContains(error, "mlafuzz.Case")) << error;
}

TEST(Codec, WhatEditorsDoToText) {
  const std::string plain = Parse(kText).SerializeAsString();
  const auto marked = ParseCase(absl::StrCat("\xef\xbb\xbf", kText));
  ASSERT_TRUE(marked.ok()) << marked.status();
  EXPECT_EQ(marked->SerializeAsString(), plain);
  const auto windows =
      ParseCase(absl::StrCat("# gr\xc3\xb6\xc3\x9f"
                             "er\r\n",
                             kText));
  ASSERT_TRUE(windows.ok()) << windows.status();
  EXPECT_EQ(windows->SerializeAsString(), plain);
  EXPECT_TRUE(absl::StrContains(
      Error(ParseCase(std::string("\xff\xfep\0o\0", 6))), "UTF-16"));
  EXPECT_EQ(
      Error(ParseCase(absl::StrCat("# one\n\n", kText, std::string("\0", 1)))),
      "not a case: text, but for the byte 0x00 in line 7; take out what "
      "is no text");
  EXPECT_TRUE(absl::StrContains(
      Error(ParseCase(std::string("\x12\x80\x01\x07\x00\x01", 6))),
      "no mlafuzz.Case message"));
}

// At once: the file may be small, and the steps many.
TEST(Codec, TooManyStepsAreRefusedBeforeTheyAreMade) {
  std::string bytes = "\x12\x04\x10\x01\x18\x01";  // pool: a page of a row
  const std::string pool = bytes;
  for (int i = 0; i < 4096; ++i) bytes += std::string("\x1a\x00", 2);
  EXPECT_TRUE(ParseCase(bytes).ok());
  for (int i = 0; i < 4'000'000; ++i) bytes += std::string("\x1a\x00", 2);
  EXPECT_EQ(Error(ParseCase(bytes)), "steps: 4004096 are more than 4096");
  bytes.resize((16 << 20) + 1);
  EXPECT_TRUE(absl::StrContains(Error(ParseCase(bytes)), "too many"));
  EXPECT_TRUE(absl::StrContains(
      Error(ParseCase(std::string((16 << 20) + 1, '\n'))), "too many"));
}

TEST(Codec, EmptyInputIsNoCase) {
  EXPECT_FALSE(ParseCase("").ok());
  EXPECT_FALSE(ParseCase("# nothing\n").ok());
}

TEST(Codec, PlainChoicesWrittenOutHaveTheSameId) {
  const Case plain = Parse(kText);
  const Case spelled = Parse(R"(
format: 1
pool { layout: FP8_DS_MLA page_size: 4 pages: 2 row_stride: 656
       page_stride: 2624 row_bytes: 656 fill { byte: 0xa5 seed: 9 } }
steps { write { slots { values: [3, -1] count: 2 } pe_dim: 64 input: BF16
  latent_dim: 512 kv_c_row_stride: 512 k_pe_row_stride: 64
  kv_c { pattern: OCTAVES seed: 7 bits: 3
         set { at: 5 bits: 1 } set { at: 5 bits: 0x3f80 } } k_pe {} } }
)");
  EXPECT_EQ(CaseId(plain), CaseId(spelled));
  EXPECT_EQ(CaseHash(plain), CaseHash(spelled));
  Case other = plain;
  other.mutable_pool()->set_pages(3);
  EXPECT_NE(CaseId(plain), CaseId(other));
}

// Ids name stored findings and corpora: they may never change.
TEST(Codec, GoldenId) {
  EXPECT_EQ(CaseId(Parse(kText)), "3a97d57e43018e890cc574709eb446c1");
}

TEST(Files, ErrorsNameThePath) {
  const std::string dir = testing::TempDir();
  absl::StatusOr<Case> missing = ReadCase(dir + "/no-such-file");
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(absl::StrContains(Error(missing), "no-such-file"));
  absl::StatusOr<Case> folder = ReadCase(dir);
  EXPECT_TRUE(absl::StrContains(Error(folder), "is a directory"));
  EXPECT_TRUE(absl::StrContains(Error(ReadCase("/dev/zero")), "regular file"));
  ASSERT_TRUE(WriteFileAtomically(dir + "/a-case", kText).ok());
  EXPECT_TRUE(ReadCase(dir + "/a-case").ok());
  ASSERT_TRUE(
      WriteFileAtomically(dir + "/junk", std::string(100, '\xee')).ok());
  EXPECT_TRUE(absl::StrContains(Error(ReadCase(dir + "/junk")), "/junk: "));
}

// A rename would put a file in its place.
TEST(Files, WhatIsNoFileStaysWhatItIs) {
  const std::string pipe = testing::TempDir() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(WriteFileAtomically(pipe, "nobody reads").ok());
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  EXPECT_TRUE(WriteFileAtomically(pipe, "hello").ok());
  char got[16] = "";
  EXPECT_EQ(read(reader, got, sizeof got), 5);
  EXPECT_STREQ(got, "hello");
  close(reader);
  struct stat found;
  ASSERT_EQ(stat(pipe.c_str(), &found), 0);
  EXPECT_TRUE(S_ISFIFO(found.st_mode));
  unlink(pipe.c_str());
}

TEST(Files, FailedWriteNamesThePath) {
  const absl::Status s =
      WriteFileAtomically(testing::TempDir() + "/no-such-dir/x", "new");
  EXPECT_FALSE(s.ok());
  EXPECT_TRUE(absl::StrContains(s.message(), "no-such-dir"));
}

}  // namespace
}  // namespace mlafuzz
