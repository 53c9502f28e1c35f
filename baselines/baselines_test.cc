// What the suites make of right kernels, of grossly wrong ones, and of some
// that they let pass: their power is measured elsewhere (docs/baselines.md),
// here it is shown that they judge as they were published.
#include <algorithm>
#include <cstring>
#include <memory>

#include "baselines/baseline.h"
#include "gtest/gtest.h"

namespace mlafuzz::baselines {
namespace {

Result RunOn(const std::string& id, const std::string& target,
             std::uint64_t seed = 1) {
  const auto baseline = FindBaseline(id);
  EXPECT_TRUE(baseline.ok()) << baseline.status();
  const auto result = RunBaseline(**baseline, target, seed);
  EXPECT_TRUE(result.ok()) << result.status();
  return *result;
}

bool Exercises(const Baseline& baseline, Kernel kernel) {
  return std::find(baseline.kernels.begin(), baseline.kernels.end(), kernel) !=
         baseline.kernels.end();
}

class EveryBaseline : public testing::TestWithParam<Baseline> {};

TEST_P(EveryBaseline, PassesTheRightKernels) {
  const Result result = RunOn(GetParam().id, "builtin");
  EXPECT_TRUE(result.applicable);
  EXPECT_FALSE(result.flagged) << result.why;
  EXPECT_EQ(result.cases, GetParam().cases);
  EXPECT_GT(result.cpu_seconds, 0);
}

TEST_P(EveryBaseline, CatchesKernelsThatDoNothing) {
  const Result result = RunOn(GetParam().id, "mutant:does-nothing");
  EXPECT_TRUE(result.flagged);
  EXPECT_NE(result.why, "");
  EXPECT_EQ(result.cases, 1);
}

TEST_P(EveryBaseline, CatchesKernelsThatRefuse) {
  EXPECT_TRUE(RunOn(GetParam().id, "mutant:refuses-all").flagged);
}

TEST_P(EveryBaseline, CatchesKernelsThatCopyTheirInputs) {
  EXPECT_TRUE(RunOn(GetParam().id, "mutant:returns-inputs").flagged);
}

// Twice the same, to the word: nothing but the seed is drawn from.
TEST_P(EveryBaseline, FollowsFromTheSeed) {
  const Result once = RunOn(GetParam().id, "mutant:returns-inputs", 7);
  const Result again = RunOn(GetParam().id, "mutant:returns-inputs", 7);
  EXPECT_EQ(once.why, again.why);
  EXPECT_EQ(once.cases, again.cases);
}

// A target that leaves a suite's kernels alone is not judged by it.
TEST_P(EveryBaseline, SaysWhereItDoesNotApply) {
  const struct {
    const char* target;
    Kernel kernel;
  } kTargets[] = {{"mutant:payload-fallthrough", Kernel::kWriter},
                  {"mutant:gather-drops-pages", Kernel::kGather},
                  {"mutant:index-zero-for-invalid", Kernel::kConvert},
                  {"mutant:sink-dropped", Kernel::kDecode}};
  for (const auto& [target, kernel] : kTargets) {
    if (Exercises(GetParam(), kernel)) continue;
    const Result result = RunOn(GetParam().id, target);
    EXPECT_FALSE(result.applicable) << target;
    EXPECT_FALSE(result.flagged) << target;
    EXPECT_EQ(result.cases, 0) << target;
  }
}

// Kernels of other layouts are right, and no suite has a case for them.
TEST_P(EveryBaseline, IsOf656ByteRows) {
  for (const char* target : {"builtin:indexer", "builtin:dsv4",
                             "builtin:nope-row", "mutant:dsv4-entries-of-7"}) {
    const Result result = RunOn(GetParam().id, target);
    EXPECT_FALSE(result.applicable) << target;
    EXPECT_EQ(result.cases, 0) << target;
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryBaseline, testing::ValuesIn(Baselines()),
                         [](const testing::TestParamInfo<Baseline>& info) {
                           std::string name = info.param.id;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

TEST(Baselines, PassRightWritersOfAnotherMake) {
  for (const char* id : {"vllm_writer_test", "kernelbench_style"}) {
    for (const char* target : {"control:thread-mapping", "builtin:pow2"}) {
      const Result result = RunOn(id, target);
      EXPECT_TRUE(result.applicable);
      EXPECT_FALSE(result.flagged) << id << " " << target << ": " << result.why;
    }
  }
}

// The conventions of an LSE are the target's own.
TEST(Baselines, TakeTheLseAsTheTargetPromisesIt) {
  const Result result = RunOn("flashmla_decode_test", "builtin:flashmla");
  EXPECT_FALSE(result.flagged) << result.why;
}

// Tolerances fixed for one arithmetic flag a right kernel of another: a finding
// about these suites. This one keeps queries and weights in E4M3, as it says.
TEST(Baselines, SomeFlagARightKernelInE4m3) {
  EXPECT_TRUE(RunOn("flashmla_decode_test", "builtin:e4m3").flagged);
  EXPECT_TRUE(RunOn("kernelbench_style", "builtin:e4m3").flagged);
}

// ---------------------------------------------------- Kernels that pass anyway

// The decode of another target with its output, or its LSE, made zero.
class Zeroed : public Target {
 public:
  enum Which { kOut, kLse };
  Zeroed(std::shared_ptr<Target> right, Which which)
      : right_(std::move(right)), which_(which) {}

  const std::string& name() const override { return right_->name(); }
  const Contract& contract() const override { return right_->contract(); }
  const Arithmetic& arithmetic() const override { return right_->arithmetic(); }
  bool Implements(Kernel kernel) const override {
    return right_->Implements(kernel);
  }
  CallResult Decode(const DecodeArgs& args,
                    const LaunchContext& context) override {
    CallResult result = right_->Decode(args, context);
    const DLTensor& tensor = which_ == kOut ? *args.out : *args.lse;
    std::int64_t bytes = tensor.dtype.bits / 8;
    for (int i = 0; i < tensor.ndim; ++i) bytes *= tensor.shape[i];
    std::memset(tensor.data, 0, static_cast<std::size_t>(bytes));
    return result;
  }

 private:
  std::shared_ptr<Target> right_;
  Which which_;
};

SuiteRun RunZeroed(const std::string& id, Zeroed::Which which) {
  TargetSet targets = *MakeTargetSet("builtin");
  auto& decode = targets.targets[static_cast<std::size_t>(Kernel::kDecode)];
  decode = std::make_shared<Zeroed>(decode, which);
  SuiteRun run(targets, {Kernel::kDecode}, 1);
  (*FindBaseline(id))->run(run);
  return run;
}

// Outputs there are means near 0.01, an absolute tolerance of 0.05 hides them.
TEST(Baselines, FlashInferPassesAnOutputOfZeros) {
  const SuiteRun run = RunZeroed("flashinfer_sm120_test", Zeroed::kOut);
  EXPECT_FALSE(run.failed()) << run.why();
  EXPECT_EQ(run.cases(), (*FindBaseline("flashinfer_sm120_test"))->cases);
}

TEST(Baselines, OthersCatchAnOutputOfZeros) {
  for (const char* id : {"vllm_backend_test", "flashmla_decode_test",
                         "kernelbench_style", "cosine_0.999"}) {
    EXPECT_TRUE(RunZeroed(id, Zeroed::kOut).failed()) << id;
  }
}

TEST(Baselines, SomeNeverLookAtTheLse) {
  for (const char* id : {"vllm_backend_test", "kernelbench_style"}) {
    EXPECT_FALSE(RunZeroed(id, Zeroed::kLse).failed()) << id;
  }
  for (const char* id : {"flashinfer_sm120_test", "flashmla_decode_test"}) {
    EXPECT_TRUE(RunZeroed(id, Zeroed::kLse).failed()) << id;
  }
}

// The founding fault, on raw scales in two suites: means near 0.01 and logits
// near 0 hide it.
TEST(Baselines, FlashInferPassesScalesReadAsPowersOfTwo) {
  const Result result = RunOn("flashinfer_sm120_test", "mutant:qk-pow2-scale");
  EXPECT_FALSE(result.flagged) << result.why;
}

// The kernel that this was published for takes rows of -1 for keys, and rows of
// length 0 for what they are: LSE -1e30, which no other contract promises.
TEST(Baselines, FlashInferPassesItsOwnSentinel) {
  const Result result =
      RunOn("flashinfer_sm120_test", "mutant:all-masked-unit-weight");
  EXPECT_FALSE(result.flagged) << result.why;
  EXPECT_TRUE(
      RunOn("flashmla_decode_test", "mutant:all-masked-unit-weight").flagged);
}

// --------------------------------------------------------------------- Names

TEST(FindBaseline, NamesThoseThereAre) {
  EXPECT_EQ(Baselines().size(), 7u);
  const auto unknown = FindBaseline("vllm");
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.status().message().find("vllm_writer_test"),
            absl::string_view::npos);
}

TEST(RunBaseline, RefusesTargetsItCannotRun) {
  const Baseline& any = Baselines().front();
  for (const char* target : {"cuda:builtin", "lib:/nowhere.so"}) {
    EXPECT_EQ(RunBaseline(any, target, 1).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(RunBaseline(any, "mutant:nope", 1).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace mlafuzz::baselines
