#include "fuzz/command/target_flags.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "fuzz/command/arguments.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

// "writer,gather", or the error.
std::string KernelsOf(const std::vector<std::string>& typed) {
  const auto arguments = Arguments::Parse(
      typed, WithTargetFlags({{"kernels", "writer,gather", "which"}}));
  if (!arguments.ok()) return std::string(arguments.status().message());
  const auto targets = ReadTargets(*arguments);
  if (!targets.ok()) return std::string(targets.status().message());
  const auto kernels = ReadKernels(*arguments, *targets);
  if (!kernels.ok()) return std::string(kernels.status().message());
  return absl::StrJoin(*kernels, ",");
}

void ExpectRefused(const std::vector<std::string>& typed,
                   const std::string& words) {
  EXPECT_TRUE(absl::StrContains(KernelsOf(typed), words)) << KernelsOf(typed);
}

TEST(TargetFlags, KernelsUnderTest) {
  EXPECT_EQ(KernelsOf({}), "writer,gather,convert,decode");
  EXPECT_EQ(KernelsOf({"--target=mutant:nope-stale-tail"}), "writer");
  EXPECT_EQ(KernelsOf({"--gather=mutant:missing-syncwarp"}), "gather");
  EXPECT_EQ(KernelsOf({"--kernels=gather,writer"}), "gather,writer");
  EXPECT_EQ(
      KernelsOf({"--target=mutant:nope-stale-tail", "--kernels=writer,gather"}),
      "writer,gather");
  EXPECT_EQ(KernelsOf({"--target=mutant:does-nothing", "--kernels=convert"}),
            "convert");
}

TEST(TargetFlags, NamesThatAreNone) {
  ExpectRefused({"--kernels=writer,,gather"}, "has an empty name");
  ExpectRefused({"--kernels=writer,"}, "has an empty name");
  ExpectRefused({"--kernels=writer,writer"}, "names writer twice");
  ExpectRefused({"--kernels="}, "--kernels is empty");
  ExpectRefused({"--target="}, "--target is empty");
  ExpectRefused({"--writer", ""}, "--writer is empty");
}

// A wrong kernel that is never called is nobody's success.
TEST(TargetFlags, ATargetThatWouldNotRun) {
  ExpectRefused({"--target=mutant:nope-stale-tail", "--kernels=gather"},
                "nothing of mutant:nope-stale-tail would run");
  ExpectRefused({"--gather=mutant:missing-syncwarp", "--kernels=writer"},
                "add --kernels=gather");
  ExpectRefused({"--writer=mutant:missing-syncwarp"},
                "use it as --gather=mutant:missing-syncwarp");
  ExpectRefused({"--target=mutant:missing-syncwarp", "--gather=builtin"},
                "nothing of mutant:missing-syncwarp would run");
  ExpectRefused(
      {"--target=mutant:missing-syncwarp", "--gather=mutant:gather-stale-tail"},
      "nothing of mutant:missing-syncwarp would run");
}

}  // namespace
}  // namespace mlafuzz
