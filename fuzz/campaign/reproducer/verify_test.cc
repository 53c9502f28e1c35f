#include "fuzz/campaign/reproducer/verify.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
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

// A module whose convert has `body`; with numpy's Python.
Verification VerifyModule(const std::string& name, const std::string& body) {
  const std::string path =
      std::string(std::getenv("TEST_TMPDIR")) + "/" + name + ".py";
  std::ofstream(path)
      << "import ctypes, os, time\n"
      << "import mlafuzz\n"
      << "def convert(request_ids, block_table, token_indices, "
         "out, valid_count, page_size):\n"
      << "    right = block_table[0, token_indices // page_size "
         "% 2] * page_size + token_indices % page_size\n"
      << "    right[token_indices < 0] = -1\n"
      << body;
  ReproducerText text;
  text.id = "convert-crash";
  text.cause = "hostile words: ''' \"\"\" \\\nimport os; os.abort()\n\xff";
  text.case_text = "pool {}\n";
  text.module = path;
  text.environment = "tier host";
  text.seconds = 2;
  const auto source =
      ReproducerSource(ReproducerKind::kPython, ThreeTokens(), text);
  EXPECT_TRUE(source.ok()) << source.status();
  const Verification result = VerifyReproducer(
      ReproducerKind::kPython, *source,
      Clock::now() + std::chrono::seconds(100), "/usr/bin/python3");
  std::printf("%s: %s\n%s", name.c_str(), result.words.c_str(),
              result.output.c_str());
  return result;
}

struct ModuleFault {
  const char* name;
  const char* body;   // of the function
  const char* words;  // that the script prints
};

class ModuleShows : public testing::TestWithParam<ModuleFault> {};

TEST_P(ModuleShows, TheBug) {
  const Verification result = VerifyModule(GetParam().name, GetParam().body);
  EXPECT_TRUE(result.verified) << result.words;
  EXPECT_EQ(result.failed, kVerifyRuns);
  EXPECT_NE(result.output.find(GetParam().words), std::string::npos)
      << result.output;
  EXPECT_NE(result.output.find("the bug is there\n"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Each, ModuleShows,
    testing::Values(
        ModuleFault{"wrong", "    right[0, 0] = 9\n    out[...] = right\n",
                    "out byte 0: expected 0x14, got 0x09"},
        ModuleFault{"nothing", "    pass\n", "out: "},
        ModuleFault{"raises", "    raise ValueError('no such luck')\n",
                    "expected ok, got error (ValueError: no such luck)"},
        ModuleFault{"refuses", "    raise mlafuzz.Refused('2 columns')\n",
                    "expected ok, got refused (2 columns)"},
        ModuleFault{"other_type", "    return right.astype('f4')\n",
                    "expected int32 (3, 2), got float32 (3, 2)"},
        ModuleFault{"exits", "    os._exit(0)\n",
                    "expected to return, got exit(0)"},
        ModuleFault{"dies", "    ctypes.string_at(8)\n",
                    "expected to return, got signal 11"},
        ModuleFault{"hangs", "    time.sleep(60)\n",
                    "expected to return, got nothing in 2 s"},
        ModuleFault{"writes_past",
                    "    out[...] = right\n"
                    "    ctypes.memset(out.ctypes.data + 40, 0, 4)\n",
                    "4 bytes around out changed"},
        ModuleFault{"writes_inputs",
                    "    out[...] = right\n    block_table[0, 0] = 0\n",
                    "block_table byte 0: expected 0x05, got 0x00"}),
    [](const auto& fault) { return std::string(fault.param.name); });

TEST(Reproducer, IsSilentOnARightModule) {
  for (const char* body : {"    out[...] = right\n", "    return right\n"}) {
    const Verification result = VerifyModule("right_module", body);
    EXPECT_EQ(result.runs, kVerifyRuns) << result.words;
    EXPECT_EQ(result.failed, 0) << result.output;
    EXPECT_NE(result.compiler.find("numpy"), std::string::npos);
  }
}

TEST(Reproducer, CannotTellWhereAModuleSkips) {
  const Verification result =
      VerifyModule("skips", "    raise mlafuzz.Skip('too wide')\n");
  EXPECT_EQ(result.runs, 0);
  EXPECT_NE(result.words.find("too wide"), std::string::npos) << result.words;
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
