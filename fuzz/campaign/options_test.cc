#include "fuzz/campaign/options.h"

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

TEST(Options, WordsAreWhatAShellTakes) {
  EXPECT_EQ(ShellWord("lib:/a/b-1.so"), "lib:/a/b-1.so");
  EXPECT_EQ(ShellWord("--jobs=2"), "--jobs=2");
  EXPECT_EQ(ShellWord("a b"), "'a b'");
  EXPECT_EQ(ShellWord("$(x)"), "'$(x)'");
  EXPECT_EQ(ShellWord("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellWord(""), "''");
}

TEST(Options, DurationsAreExact) {
  EXPECT_EQ(DurationText(2.5), "2.5s");
  EXPECT_EQ(DurationText(0.1), "0.1s");
  EXPECT_EQ(DurationText(31536000), "31536000s");
}

TEST(Options, TargetsFlagsHaveTheirLimits) {
  Targets targets;
  EXPECT_EQ(TargetsFlags(targets), "--target=builtin");
  targets.set_all("lib:/my kernels/a.so");
  targets.set_decode("mutant:x");
  targets.set_call_seconds(0.25);
  targets.set_start_seconds(90);
  targets.set_resident_mib(64);
  EXPECT_EQ(TargetsFlags(targets),
            "--target='lib:/my kernels/a.so' --decode=mutant:x "
            "--call-timeout=0.25s --start-timeout=90s --memory-limit=64");
}

}  // namespace
}  // namespace mlafuzz
