#include "fuzz/campaign/reproducer/kernel_source.h"

#include <chrono>
#include <cstdio>
#include <string>

#include "fuzz/campaign/reproducer/source.h"
#include "fuzz/campaign/reproducer/verify.h"
#include "gtest/gtest.h"
#include "kernels/target_set.h"

namespace mlafuzz {
namespace {

// One token into slot 1 of 2, over 0xa5, without rope.
Evidence NopeWrite() {
  Evidence evidence;
  evidence.set_kernel("writer");
  evidence.set_ended("ok");
  evidence.set_should_end("ok");
  const auto add = [&](const char* name, const char* dtype,
                       std::initializer_list<int> shape,
                       std::initializer_list<int> strides,
                       const std::string& bytes) -> Evidence::Buffer& {
    Evidence::Buffer& buffer = *evidence.add_buffers();
    buffer.set_name(name);
    buffer.set_dtype(dtype);
    for (const int n : shape) buffer.add_shape(n);
    for (const int n : strides) buffer.add_strides(n);
    buffer.set_before(bytes);
    return buffer;
  };
  const std::string before(2 * 656, '\xa5');
  std::string after = before;
  // A tile of zeros: codes 0, the smallest normal float for a scale.
  after.replace(656, 656, std::string(656, '\0'));
  for (int tile = 0; tile < 4; ++tile) after[656 + 512 + 4 * tile + 2] = '\x80';
  add("cache", "u8", {1, 2, 656}, {1312, 656, 1}, before).set_expected(after);
  add("kv_c", "bf16", {1, 512}, {512, 1}, std::string(1024, '\0'));
  add("slot_mapping", "i64", {1}, {1}, std::string("\1\0\0\0\0\0\0\0", 8));
  return evidence;
}

// nvcc takes the kernel with all that it includes. Where there is a GPU it
// shows the fault of the wrong twin and none of builtin; elsewhere it says that
// it cannot tell.
class Embedded : public testing::TestWithParam<const char*> {};

TEST_P(Embedded, IsTakenByNvccAlone) {
  ReproducerText text;
  text.id = "writer-tail";
  text.kernel = GetParam();
  const auto source =
      ReproducerSource(ReproducerKind::kCuda, NopeWrite(), text);
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ(source->find("#include \"kernels"), std::string::npos);
  EXPECT_EQ(source->find("absl"), std::string::npos);
  const Verification v = VerifyReproducer(
      ReproducerKind::kCuda, *source,
      std::chrono::steady_clock::now() + std::chrono::seconds(250));
  std::printf("%s: %s\n%s", GetParam(), v.words.c_str(), v.output.c_str());
  ASSERT_EQ(v.words.find("not built"), std::string::npos) << v.words;
  if (v.runs == 0) {
    GTEST_SKIP() << v.words;
  }
  EXPECT_EQ(v.failed, std::string(GetParam()) == "builtin" ? 0 : kVerifyRuns);
}

INSTANTIATE_TEST_SUITE_P(Each, Embedded,
                         testing::Values("builtin", "mutant:nope-stale-tail"));

// Of decodes and of other layouts' kernels too, which write no such row: they
// are built only.
class Builds : public testing::TestWithParam<const char*> {};

TEST_P(Builds, WithNvccAlone) {
  ReproducerText text;
  text.id = "writer-tail";
  text.kernel = GetParam();
  const auto source =
      ReproducerSource(ReproducerKind::kCuda, NopeWrite(), text);
  ASSERT_TRUE(source.ok()) << source.status();
  const Verification v = VerifyReproducer(
      ReproducerKind::kCuda, *source,
      std::chrono::steady_clock::now() + std::chrono::seconds(250));
  std::printf("%s: %s\n%s", GetParam(), v.words.c_str(), v.output.c_str());
  EXPECT_EQ(v.words.find("not built"), std::string::npos) << v.words;
}

INSTANTIATE_TEST_SUITE_P(Each, Builds,
                         testing::Values("mutant:qk-pow2-scale",
                                         "mutant:indexer-reads-inline",
                                         "builtin:dsv4"));

TEST(Embedded, IsEveryKernel) {
  int embedded = 0;
  for (const TargetInfo& target : AllTargets()) {
    for (const bool decode : {false, true}) {
      const auto source = KernelSource(target.name, 0, decode);
      if (!source.ok()) {
        ADD_FAILURE() << source.status();
        continue;
      }
      ++embedded;
      EXPECT_EQ(source->find("#include \""), std::string::npos) << target.name;
      EXPECT_EQ(source->find("absl::"), std::string::npos) << target.name;
    }
  }
  EXPECT_GT(embedded, 600);
  std::printf("%d sources of kernels\n", embedded);
}

TEST(Embedded, IsTheDecodeOfATargetThatHasOneApart) {
  const auto decode = KernelSource("builtin", 0, true);
  const auto others = KernelSource("builtin", 0, false);
  ASSERT_TRUE(decode.ok() && others.ok());
  EXPECT_NE(decode->find("mlafuzz::BuiltinDecodes()"), std::string::npos);
  EXPECT_EQ(others->find("mlafuzz::BuiltinDecodes()"), std::string::npos);
}

TEST(Embedded, IsNoUnknownKernel) {
  ReproducerText text;
  text.kernel = "mutant:no-such-kernel";
  EXPECT_EQ(ReproducerSource(ReproducerKind::kCuda, NopeWrite(), text)
                .status()
                .code(),
            absl::StatusCode::kNotFound);
}

// A promise in one line, too, made of that of a kernel which is not there.
TEST(KernelSource, LeavesOutWhatIsPromised) {
  const auto source =
      KernelSource("mutant:compacting-last-lane-lost", 0, false);
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ(source->find("Compacting().contract()"), std::string::npos);
  EXPECT_NE(
      source->find("Contract CompactingContract() { return Contract(); }"),
      std::string::npos);
}

}  // namespace
}  // namespace mlafuzz
