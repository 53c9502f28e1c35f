#include "fuzz/campaign/report/evidence_pictures.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

Evidence::Buffer CacheOfTwo() {
  Evidence::Buffer cache;
  cache.set_name("cache");
  cache.set_dtype("u8");
  for (const int size : {2, 1, 656}) cache.add_shape(size);
  // A gap of 44 bytes after each page, and another owner's 16 in front.
  for (const int stride : {700, 656, 1}) cache.add_strides(stride);
  cache.set_origin(16);
  cache.set_before(std::string(16 + 2 * 700, '\1'));
  cache.set_expected(cache.before());
  cache.set_got(std::string(cache.before().size(), '\2'));
  return cache;
}

void AddWrong(Evidence::Buffer& buffer, std::int64_t begin, std::int64_t end) {
  Evidence::Range& range = *buffer.add_wrong();
  range.set_begin(begin);
  range.set_end(end);
}

// Parts of a row, rows, and what lies between them are told apart.
TEST(WrongRuns, AreCutAtParts) {
  Evidence evidence;
  evidence.set_kernel("writer");
  Evidence::Buffer& cache = *evidence.add_buffers();
  cache = CacheOfTwo();
  AddWrong(cache, 10, 16 + 130);
  AddWrong(cache, 16 + 650, 16 + 700 + 1);
  const std::vector<WrongRun> runs = WrongRuns(evidence, cache);
  ASSERT_EQ(runs.size(), 6u);
  EXPECT_EQ(runs[0].row, "");
  EXPECT_EQ(runs[0].begin, -6);
  EXPECT_EQ(runs[0].end, 0);
  EXPECT_EQ(runs[1].row, "slot 0");
  EXPECT_EQ(runs[1].part, "codes of tile 0");
  EXPECT_EQ(runs[1].end, 128);
  EXPECT_EQ(runs[2].part, "codes of tile 1");
  EXPECT_EQ(runs[2].end, 130);
  EXPECT_EQ(runs[3].part, "tail");
  EXPECT_EQ(runs[3].begin, 650);
  EXPECT_EQ(runs[4].row, "");
  EXPECT_EQ(runs[5].row, "slot 1");
  EXPECT_EQ(runs[5].at, 16 + 700);
  const std::string html = EvidenceHtml(evidence);
  EXPECT_NE(html.find("slot 0: 136 of 656 bytes are wrong"), std::string::npos)
      << html;
  EXPECT_NE(html.find("between rows of cache"), std::string::npos);
  EXPECT_NE(html.find("01 \u00d7 128"), std::string::npos);
}

// The output of a gather has the parts of the rows that it was gathered from:
// one scale has no tiles, and of a page with scales behind its rows the last 64
// of 512 columns are rope.
TEST(WrongRuns, OfADenseRowGoByTheCache) {
  const struct {
    int row;
    int row_stride;
    int columns;
    const char* part;
  } kCases[] = {{656, 656, 576, "columns of tile 0"},
                {528, 528, 512, "columns of tile 0"},
                {576, 576, 576, "elements"},
                {584, 576, 512, "elements"}};
  for (const auto& one : kCases) {
    Evidence evidence;
    Evidence::Buffer& cache = *evidence.add_buffers();
    cache.set_name("cache");
    cache.set_dtype("u8");
    for (const int size : {1, 1, one.row}) cache.add_shape(size);
    for (const int stride : {one.row, one.row_stride, 1}) {
      cache.add_strides(stride);
    }
    Evidence::Buffer& dst = *evidence.add_buffers();
    dst.set_name("dst");
    dst.set_dtype("bf16");
    for (const int size : {1, one.columns}) dst.add_shape(size);
    for (const int stride : {one.columns, 1}) dst.add_strides(stride);
    dst.set_before(std::string(2 * one.columns, '\1'));
    AddWrong(dst, 0, 2);
    const std::vector<WrongRun> runs = WrongRuns(evidence, dst);
    ASSERT_EQ(runs.size(), 1u) << one.row;
    EXPECT_EQ(runs[0].part, one.part) << one.row;
  }
}

// Two pages of two tokens: 128 codes each, then 4 bytes of scale each, and 8
// bytes up to the next page.
TEST(WrongRuns, AreOfPagesWhereScalesStandBehindTheirRows) {
  Evidence evidence;
  Evidence::Buffer& cache = *evidence.add_buffers();
  cache = CacheOfTwo();
  cache.clear_shape();
  cache.clear_strides();
  for (const int size : {2, 2, 132}) cache.add_shape(size);
  for (const int stride : {272, 128, 1}) cache.add_strides(stride);
  AddWrong(cache, 16 + 130, 16 + 131);
  AddWrong(cache, 16 + 254, 16 + 258);
  AddWrong(cache, 16 + 265, 16 + 266);
  AddWrong(cache, 16 + 272 + 3, 16 + 272 + 4);
  const std::vector<WrongRun> runs = WrongRuns(evidence, cache);
  ASSERT_EQ(runs.size(), 5u);
  EXPECT_EQ(runs[0].row, "page 0");
  EXPECT_EQ(runs[0].part, "rows");
  EXPECT_EQ(runs[0].begin, 130);
  EXPECT_EQ(runs[1].end, 256);
  EXPECT_EQ(runs[2].part, "scales behind them");
  EXPECT_EQ(runs[2].begin, 256);
  EXPECT_EQ(runs[3].row, "");
  EXPECT_EQ(runs[4].row, "page 1");
  EXPECT_EQ(runs[4].begin, 3);
  EXPECT_NE(EvidenceHtml(evidence).find("page 0: 5 of 264 bytes are wrong"),
            std::string::npos);
}

// Of the 16-bit element 2 and 4 one byte is wrong, of 3 both are.
TEST(WrongRuns, AreOfWholeElements) {
  Evidence evidence;
  Evidence::Buffer& dst = *evidence.add_buffers();
  dst.set_name("dst");
  dst.set_dtype("bf16");
  for (const int size : {1, 8}) dst.add_shape(size);
  for (const int stride : {8, 1}) dst.add_strides(stride);
  AddWrong(dst, 5, 8);
  AddWrong(dst, 9, 10);
  const std::vector<WrongRun> runs = WrongRuns(evidence, dst);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].begin, 4);
  EXPECT_EQ(runs[0].end, 10);
  EXPECT_EQ(runs[0].at, 4);
}

TEST(EvidenceHtml, DrawsErrorsOverBounds) {
  Evidence evidence;
  for (int i = 0; i < 65; ++i) {
    evidence.add_heat(i == 3 ? std::numeric_limits<float>::infinity() : 0.2f);
  }
  const std::string html = EvidenceHtml(evidence);
  EXPECT_NE(html.find("class=\"k4\" d=\"M3 0h1v1h-1z\""), std::string::npos)
      << html;
  EXPECT_NE(html.find("the largest is inf"), std::string::npos);
}

TEST(EvidenceHtml, ShowsNumbersWhereThereAreBounds) {
  Evidence evidence;
  Evidence::Buffer& lse = *evidence.add_buffers();
  lse.set_name("lse");
  lse.set_dtype("f32");
  for (const int size : {1, 1}) lse.add_shape(size);
  for (const int stride : {1, 1}) lse.add_strides(stride);
  const auto bytes = [](float value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  };
  lse.set_before(bytes(0));
  lse.set_expected(bytes(1.5f));
  lse.set_lowest(bytes(1.5f));
  lse.set_highest(bytes(2.5f));
  lse.set_got(bytes(-3));
  AddWrong(lse, 0, 4);
  const std::string html = EvidenceHtml(evidence);
  EXPECT_NE(html.find("<code>1.5<br>2.5</code></td><td><code>-3</code>"),
            std::string::npos)
      << html;
}

TEST(EvidenceHtml, SaysHowTheCallEnded) {
  Evidence evidence;
  evidence.set_ended("crash");
  evidence.set_should_end("ok");
  evidence.set_message("<at>");
  EXPECT_NE(EvidenceHtml(evidence).find("ended in <b>crash</b>: &lt;at&gt;"),
            std::string::npos);
  evidence.set_error("too large");
  EXPECT_EQ(EvidenceHtml(evidence), "");
}

}  // namespace
}  // namespace mlafuzz
