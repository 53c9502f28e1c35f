// What each relation of decodes is worth: it holds for right kernels in every
// arithmetic, and breaks on a wrong kernel or a damaged result.

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "corpus/codec.h"
#include "gtest/gtest.h"
#include "kernels/executor.h"
#include "kernels/target_set.h"
#include "properties/checker.h"
#include "properties/generate.h"
#include "properties/relations.h"

namespace mlafuzz {
namespace {

constexpr const char* kRelations[] = {
    "candidate-permutation", "duplicates",
    "mask-placement",        "all-masked",
    "wider-buffer",          "declared-capacity",
    "split-count",           "head-shards",
    "query-length",          "convexity",
    "exact-lattice",         "decode-zero-rope",
    "page-zero-poison",      "trailing-mask",
    "sink-minus-infinity",   "two-poison",
};

struct Tally {
  int applied = 0, uninformative = 0, failed = 0;
  std::string first;  // failure
};

// What a damaged result looks like: one value of the plain run changed, as a
// wrong kernel would.
enum class Damage { kNone, kOut, kLse };

void Apply(Damage damage, const CaseImage& image, Observation& observation) {
  for (std::size_t s = 0; s < image.steps.size(); ++s) {
    const StepImage& step = image.steps[s];
    if (step.is_patch || step.kernel != Kernel::kDecode ||
        s >= observation.steps.size()) {
      continue;
    }
    for (std::size_t i = 0; i < observation.steps[s].outputs.size(); ++i) {
      std::vector<std::uint8_t>& bytes = observation.steps[s].outputs[i];
      if (damage == Damage::kOut && bytes.size() >= 2 &&
          step.tensors[i].id == TensorId::kAttention) {
        const std::uint16_t large = 0x7f00;  // 2^127
        std::memcpy(bytes.data(), &large, 2);
      }
      if (damage == Damage::kLse && bytes.size() >= 4 &&
          step.tensors[i].id == TensorId::kLse) {
        float lse;
        std::memcpy(&lse, bytes.data(), 4);
        lse += 1 + 0.01f * lse;
        std::memcpy(bytes.data(), &lse, 4);
      }
    }
  }
}

Tally RunRelation(const std::string& name, const std::string& target, int seeds,
                  Damage damage = Damage::kNone) {
  Tally run;
  absl::StatusOr<TargetSet> targets = MakeTargetSet(target);
  EXPECT_TRUE(targets.ok()) << targets.status();
  std::unique_ptr<Executor> executor = MakeHostExecutor();
  CaseChecker checker(*targets, *executor);
  const Contracts contracts = checker.contracts();
  const Relation* relation = nullptr;
  for (const Relation& r : AllRelations()) {
    if (name == r.name && r.kernel == Kernel::kDecode) relation = &r;
  }
  EXPECT_NE(relation, nullptr) << name;
  for (int seed = 0; seed < seeds && relation != nullptr; ++seed) {
    Choices choices(seed);
    const Case c = GenerateCase(
        choices,
        {.writer = false, .gather = false, .convert = false, .decode = true});
    CaseResult result;
    EXPECT_TRUE(checker.CheckCase(c, {}, &result).ok());
    if (!relation->applies(*targets, contracts, result.image)) continue;
    Apply(damage, result.image, result.observation);
    std::vector<Check> checks;
    const absl::Status status =
        relation->run(*targets, *executor, contracts, result.image,
                      result.observation, seed, &checks);
    EXPECT_TRUE(status.ok()) << status;
    for (const Check& check : checks) {
      ++run.applied;
      run.uninformative += check.verdict == Verdict::kUninformative;
      if (!IsFailure(check.verdict)) continue;
      if (run.failed++ == 0) {
        run.first = check.detail + "\n" + FormatCaseText(c);
      }
    }
  }
  return run;
}

class RightDecode : public testing::TestWithParam<const char*> {};

TEST_P(RightDecode, HoldsEveryRelation) {
  for (const char* name : kRelations) {
    const Tally run = RunRelation(name, GetParam(), 300);
    EXPECT_EQ(run.failed, 0) << name << ": " << run.first;
    EXPECT_GT(run.applied, 20) << name;
    // What says nothing is no evidence.
    EXPECT_LT(run.uninformative, run.applied / 2) << name;
    std::printf("%s %s: %d runs, %d uninformative\n", GetParam(), name,
                run.applied, run.uninformative);
  }
}

INSTANTIATE_TEST_SUITE_P(All, RightDecode,
                         testing::Values("builtin", "builtin:bf16-partials",
                                         "builtin:e4m3",
                                         "builtin:e4m3-two-pass",
                                         "builtin:flashmla"));

struct Breaks {
  const char* relation;
  const char* target;
  Damage damage;
};

class Broken : public testing::TestWithParam<Breaks> {};

TEST_P(Broken, IsSeen) {
  const auto& [relation, target, damage] = GetParam();
  const Tally run = RunRelation(relation, target, 300, damage);
  std::printf("%s on %s: %d of %d runs fail\n", relation, target, run.failed,
              run.applied);
  EXPECT_GT(run.failed, 0);
}

INSTANTIATE_TEST_SUITE_P(
    All, Broken,
    testing::Values(
        Breaks{"candidate-permutation", "mutant:missing-rescale"},
        Breaks{"candidate-permutation", "builtin", Damage::kOut},
        Breaks{"candidate-permutation", "builtin", Damage::kLse},
        Breaks{"duplicates", "mutant:lse-wrong-base"},
        Breaks{"duplicates", "builtin:e4m3", Damage::kOut},
        Breaks{"duplicates", "builtin", Damage::kLse},
        Breaks{"mask-placement", "mutant:leading-block-nan"},
        Breaks{"mask-placement", "mutant:masked-lane-reads-slot0"},
        Breaks{"all-masked", "mutant:all-masked-unit-weight"},
        Breaks{"wider-buffer", "mutant:capacity-from-topk-refuses"},
        Breaks{"wider-buffer", "builtin", Damage::kLse},
        Breaks{"declared-capacity", "mutant:capacity-from-topk-refuses"},
        Breaks{"declared-capacity", "mutant:capacity-from-topk-clips"},
        Breaks{"split-count", "mutant:split-partial-dropped"},
        Breaks{"split-count", "builtin:bf16-partials", Damage::kOut},
        Breaks{"head-shards", "builtin", Damage::kOut},
        Breaks{"head-shards", "builtin", Damage::kLse},
        Breaks{"query-length", "builtin", Damage::kOut},
        Breaks{"query-length", "builtin", Damage::kLse},
        Breaks{"convexity", "mutant:missing-rescale"},
        Breaks{"convexity", "builtin", Damage::kOut},
        Breaks{"exact-lattice", "mutant:split-partial-dropped"},
        Breaks{"exact-lattice", "mutant:lse-wrong-base"},
        Breaks{"decode-zero-rope", "mutant:tail-read-as-rope"},
        Breaks{"page-zero-poison", "mutant:masked-lane-reads-slot0"},
        Breaks{"two-poison", "mutant:masked-lane-reads-slot0"}),
    [](const testing::TestParamInfo<Breaks>& info) {
      std::string name = std::string(info.param.relation) + "_" +
                         info.param.target +
                         (info.param.damage == Damage::kNone  ? ""
                          : info.param.damage == Damage::kOut ? "_out"
                                                              : "_lse");
      for (char& c : name) {
        if (!std::isalnum(c)) c = '_';
      }
      return name;
    });

}  // namespace
}  // namespace mlafuzz
