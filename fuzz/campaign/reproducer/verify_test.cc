#include "fuzz/campaign/reproducer/verify.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "fuzz/campaign/reproducer/source.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

using Clock = std::chrono::steady_clock;

std::string Library(const std::string& name) {
  return std::filesystem::absolute("kernels/foreign/testing/" + name + ".so")
      .string();
}

Evidence::Buffer& Add(Evidence& evidence, const char* name, int rows,
                      int columns, const std::string& bytes) {
  Evidence::Buffer& buffer = *evidence.add_buffers();
  buffer.set_name(name);
  buffer.set_dtype("i32");
  buffer.add_shape(rows);
  buffer.add_strides(columns == 0 ? 1 : columns);
  if (columns != 0) {
    buffer.add_shape(columns);
    buffer.add_strides(1);
  }
  buffer.set_before(bytes);
  return buffer;
}

std::string Words(std::initializer_list<std::int32_t> words) {
  return std::string(reinterpret_cast<const char*>(words.begin()),
                     4 * words.size());
}

// Three tokens of one request: what a misbehaving library does wrong, and what
// a right one does.
Evidence ThreeTokens() {
  Evidence evidence;
  evidence.set_kernel("convert");
  evidence.set_ended("ok");
  evidence.set_should_end("ok");
  evidence.set_page_size(4);
  Add(evidence, "request_ids", 3, 0, Words({0, 0, 0}));
  Add(evidence, "block_table", 1, 2, Words({5, 7}));
  Add(evidence, "token_indices", 3, 2, Words({0, 1, 4, -1, 7, 2}));
  Add(evidence, "out", 3, 2, std::string(24, '\xa5'))
      .set_expected(Words({20, 21, 28, -1, 31, 22}));
  return evidence;
}

Verification Verify(const std::string& library, ReproducerKind kind) {
  ReproducerText text;
  text.id = "convert-crash";
  text.cause = "hostile words: */ \\\nint main() { return 0; } \\\n\xff";
  text.case_text = "pool {}\n";
  text.library = Library(library);
  text.environment = "tier host";
  text.seconds = 2;
  const auto source = ReproducerSource(kind, ThreeTokens(), text);
  EXPECT_TRUE(source.ok()) << source.status();
  const Verification result =
      VerifyReproducer(kind, *source, Clock::now() + std::chrono::seconds(200));
  std::printf("%s: %s\n%s", library.c_str(), result.words.c_str(),
              result.output.c_str());
  return result;
}

class Shows
    : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(Shows, TheBug) {
  const auto& [library, words] = GetParam();
  const Verification result = Verify(library, ReproducerKind::kCxx);
  EXPECT_TRUE(result.verified) << result.words;
  EXPECT_EQ(result.failed, kVerifyRuns);
  EXPECT_NE(result.output.find(words), std::string::npos) << result.output;
}

INSTANTIATE_TEST_SUITE_P(
    Each, Shows,
    testing::Values(std::pair("segfault", "expected to return, got signal 11"),
                    std::pair("exit_0", "expected to return, got exit(0)"),
                    std::pair("loop", "expected to return, got nothing in 2 s"),
                    std::pair("errors", "expected ok, got error"),
                    std::pair("writes_past", "bytes around "),
                    std::pair("writes_inputs", "expected 0x")));

// Where the bug is fixed it says so, and is no witness.
TEST(Reproducer, IsSilentOnARightLibrary) {
  const Verification result = Verify("right", ReproducerKind::kCxx);
  EXPECT_FALSE(result.verified);
  EXPECT_EQ(result.runs, kVerifyRuns) << result.words;
  EXPECT_EQ(result.failed, 0);
  EXPECT_NE(result.output.find("all is as expected"), std::string::npos)
      << result.output;
}

TEST(Reproducer, CannotTellWithoutItsLibrary) {
  const Verification result = Verify("no_such", ReproducerKind::kCxx);
  EXPECT_FALSE(result.verified);
  EXPECT_EQ(result.runs, 0);
  EXPECT_NE(result.words.find("cannot load the library"), std::string::npos)
      << result.words;
}

TEST(Reproducer, IsAGoogleTestToo) {
  const Verification wrong = Verify("errors", ReproducerKind::kTest);
  EXPECT_TRUE(wrong.verified) << wrong.words;
  EXPECT_NE(wrong.output.find("KvCacheRegression.ConvertCrash"),
            std::string::npos)
      << wrong.output;
}

TEST(Reproducer, HasNoPlaceForEverything) {
  Evidence evidence = ThreeTokens();
  std::string bytes;
  for (std::size_t i = 0; i < 2 * kMostReproducerBytes; ++i) {
    bytes += static_cast<char>(i * 2654435761u >> 16);
  }
  evidence.mutable_buffers(0)->set_before(bytes);
  EXPECT_EQ(
      ReproducerSource(ReproducerKind::kCxx, evidence, {}).status().code(),
      absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace mlafuzz
