#include <set>

#include "gtest/gtest.h"
#include "kernels/target_set.h"

namespace mlafuzz {
namespace {

TEST(Targets, BuiltinIsFirstAndNamesAreUnique) {
  const std::vector<TargetInfo>& all = AllTargets();
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all[0].name, "builtin");
  std::set<std::string> names;
  for (const TargetInfo& info : all) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_FALSE(info.what.empty()) << info.name;
  }
}

TEST(Targets, TheNamesThatOthersRelyOn) {
  for (const char* name : {"builtin",
                           "builtin:pow2",
                           "mutant:nope-stale-tail",
                           "mutant:gather-stale-tail",
                           "mutant:fp16-bit-amax",
                           "mutant:writer-negative-slot",
                           "mutant:payload-fallthrough",
                           "mutant:scale-reciprocal",
                           "mutant:gather-drops-pages",
                           "mutant:table-row-from-shape",
                           "mutant:index-zero-for-invalid",
                           "mutant:missing-syncwarp",
                           "mutant:does-nothing",
                           "mutant:refuses-all",
                           "mutant:returns-inputs",
                           "control:thread-mapping",
                           "builtin:bf16-partials",
                           "builtin:e4m3",
                           "builtin:e4m3-two-pass",
                           "builtin:e4m3-qk-pow2",
                           "builtin:e4m3-two-pass-qk-pow2",
                           "builtin:e4m3-two-pass-v-pow2",
                           "builtin:e4m3-two-pass-both-pow2",
                           "builtin:flashinfer-arbitrary",
                           "builtin:flashinfer-pow2",
                           "builtin:flashmla",
                           "mutant:qk-pow2-scale",
                           "mutant:v-pow2-scale",
                           "mutant:both-pow2-scale",
                           "mutant:capacity-from-topk-refuses",
                           "mutant:capacity-from-topk-clips",
                           "mutant:length-ignored-above-64",
                           "mutant:all-masked-unit-weight",
                           "mutant:masked-lane-reads-slot0",
                           "mutant:leading-block-nan",
                           "mutant:missing-rescale",
                           "mutant:sink-dropped",
                           "mutant:lse-wrong-base",
                           "mutant:tail-read-as-rope",
                           "mutant:split-partial-dropped"}) {
    EXPECT_TRUE(MakeTargetSet(name).ok()) << name;
  }
}

TEST(Targets, AMutantTakesOnlyTheKernelsThatItReplaces) {
  for (const TargetInfo& info : AllTargets()) {
    SCOPED_TRACE(info.name);
    absl::StatusOr<TargetSet> set = MakeTargetSet(info.name);
    ASSERT_TRUE(set.ok());
    const std::set<Kernel> replaced(info.replaces.begin(), info.replaces.end());
    for (Kernel kernel : kAllKernels) {
      Target* target = set->For(kernel);
      ASSERT_NE(target, nullptr);
      EXPECT_TRUE(target->Implements(kernel));
      if (replaced.count(kernel) > 0) {
        EXPECT_EQ(target->name(), info.name);
      } else if (kernel != Kernel::kConvert) {
        // A right one, for pools of the layout; where nobody decodes those,
        // builtin's decode.
        EXPECT_EQ(target->name().rfind("builtin", 0), 0u) << target->name();
      } else {
        EXPECT_EQ(target->name(), "builtin");
      }
    }
    const Layout layout = set->For(Kernel::kWriter)->contract().layout();
    EXPECT_EQ(set->For(Kernel::kGather)->contract().layout(), layout);
    if (layout == FP8_DS_MLA && replaced.count(Kernel::kGather) == 0) {
      EXPECT_EQ(set->For(Kernel::kGather)->name(), "builtin");
    }
  }
}

TEST(Targets, OverridesOneKernel) {
  absl::StatusOr<TargetSet> set = MakeTargetSet(
      "builtin", "builtin:pow2", "mutant:gather-stale-tail", "", "");
  ASSERT_TRUE(set.ok());
  EXPECT_EQ(set->For(Kernel::kWriter)->name(), "builtin:pow2");
  EXPECT_EQ(set->For(Kernel::kGather)->name(), "mutant:gather-stale-tail");
  EXPECT_EQ(set->For(Kernel::kConvert)->name(), "builtin");
  EXPECT_FALSE(MakeTargetSet("builtin", "", "nonsense", "", "").ok());
}

TEST(Targets, Pow2SaysSoInItsContract) {
  const TargetSet set = *MakeTargetSet("builtin:pow2");
  const WriterContract& writer = set.For(Kernel::kWriter)->contract().writer();
  EXPECT_EQ(writer.scale(), WriterContract::POW2_CEIL);
  EXPECT_EQ(writer.floor_bits(), 0x38d1b717u);
}

TEST(Targets, DecodesSayWhatTheyCompute) {
  const TargetSet set = *MakeTargetSet("builtin:flashmla");
  const Target& decode = *set.For(Kernel::kDecode);
  EXPECT_EQ(decode.contract().qk().scale_rule(), ReaderSide::SCALE_BF16);
  EXPECT_EQ(decode.contract().decode().lse_base(), DecodeContract::BASE_E);
  EXPECT_EQ(set.For(Kernel::kGather)->name(), "builtin");
  const TargetSet e4m3 = *MakeTargetSet("builtin:e4m3");
  EXPECT_EQ(e4m3.For(Kernel::kDecode)->arithmetic().weights(),
            Arithmetic::WEIGHTS_E4M3);
}

TEST(Targets, UnknownNamesGetASuggestion) {
  for (const auto& [typo, meant] :
       {std::pair("mutant:nope-stale-tial", "mutant:nope-stale-tail"),
        std::pair("nope-stale-tail", "mutant:nope-stale-tail"),
        std::pair("biultin", "builtin"), std::pair("pow2", "builtin:pow2")}) {
    const absl::Status status = MakeTargetSet(typo).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
    EXPECT_NE(
        status.ToString().find(std::string("did you mean \"") + meant + "\"?"),
        std::string::npos)
        << status;
  }
}

}  // namespace
}  // namespace mlafuzz
