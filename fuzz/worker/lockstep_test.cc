#include "fuzz/worker/lockstep.h"

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "properties/choices.h"
#include "properties/generate.h"

namespace mlafuzz {
namespace {

std::unique_ptr<Session> On(const std::string& target) {
  Targets targets;
  targets.set_all(target);
  auto session = Session::Create(targets);
  EXPECT_TRUE(session.ok()) << session.status();
  return *std::move(session);
}

// Of the first case of the generator in which builtin and `target` differ.
std::string FirstDifference(const std::string& target) {
  const auto a = On("builtin");
  const auto b = On(target);
  for (int seed = 0; seed < 2000; ++seed) {
    Choices choices(seed);
    const Case c = GenerateCase(
        choices,
        {.writer = false, .gather = false, .convert = false, .decode = true});
    CaseResult result;
    if (!a->checker().CheckCase(c, {}, &result).ok()) continue;
    const auto& steps = result.image.steps;
    for (int i = 0; i < static_cast<int>(result.observation.steps.size());
         ++i) {
      if (steps[i].is_patch || steps[i].kernel != Kernel::kDecode ||
          result.observation.steps[i].status != CallStatus::kOk) {
        continue;
      }
      const auto text = Lockstep(*a, *b, result.image, result.observation, i);
      if (!text.ok()) return std::string(text.status().message());
      if (!absl::StartsWith(*text, "all stages")) return *text;
    }
  }
  return "all stages are equal";
}

TEST(Lockstep, ATargetAgainstItselfIsEqual) {
  EXPECT_EQ(FirstDifference("builtin"), "all stages are equal");
}

struct WhereTwin {
  const char* target;
  const char* stage;
};

class Twins : public testing::TestWithParam<WhereTwin> {};

TEST_P(Twins, DifferFirstWhereTheyAreWrong) {
  const std::string text = FirstDifference(GetParam().target);
  EXPECT_TRUE(absl::StartsWith(
      text,
      absl::StrCat("the first stage that differs: ", GetParam().stage, ", ")))
      << text;
}

INSTANTIATE_TEST_SUITE_P(
    Each, Twins,
    testing::Values(WhereTwin{"mutant:qk-pow2-scale", "scores"},
                    WhereTwin{"mutant:length-ignored-above-64", "scores"},
                    WhereTwin{"mutant:leading-block-nan", "weights"},
                    WhereTwin{"mutant:v-pow2-scale", "accumulator"},
                    WhereTwin{"mutant:missing-rescale", "accumulator"},
                    WhereTwin{"mutant:sink-dropped", "output"},
                    WhereTwin{"mutant:lse-wrong-base", "lse"}),
    [](const auto& info) {
      std::string name = info.param.target + sizeof("mutant:") - 1;
      for (char& c : name) c = c == '-' ? '_' : c;
      return name;
    });

TEST(Lockstep, WhoLeavesNoTraceIsNamed) {
  EXPECT_TRUE(absl::StrContains(FirstDifference("mutant:does-nothing"),
                                "b leaves no trace of its stages"));
}

}  // namespace
}  // namespace mlafuzz
