#include "fuzz/nightly/config.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

TEST(NightConfigTest, FillsInWhatTurnsItRed) {
  const auto config = ParseNightConfig(
      "state: 's' work { target: 'lib:k.so' kernels: ['writer', 'gather'] "
      "backend: 'cuda' device: 1 flavour: 'plain' units: 2 cases: 3 }");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(IsRed(*config, NEW_CAUSE));
  EXPECT_TRUE(IsRed(*config, GATE));
  EXPECT_FALSE(IsRed(*config, STILL_FAILS));
  EXPECT_EQ(WorkFlags(config->work(0)),
            (std::vector<std::string>{
                "--target=lib:k.so", "--kernels=writer,gather",
                "--backend=cuda", "--device=1", "--flavour=plain"}));
  const auto one = ParseNightConfig(
      "state: 's' work { units: 1 cases: 1 } red: STILL_FAILS");
  EXPECT_TRUE(IsRed(*one, STILL_FAILS));
  EXPECT_FALSE(IsRed(*one, NEW_CAUSE));
  EXPECT_TRUE(WorkFlags(one->work(0)).empty());
}

TEST(NightConfigTest, RefusesWithTheFieldsName) {
  const auto refused = [](const std::string& text, const std::string& word) {
    const auto config = ParseNightConfig(text);
    ASSERT_FALSE(config.ok()) << text;
    EXPECT_NE(config.status().message().find(word), std::string::npos)
        << config.status();
  };
  refused("stat: 's'", "stat");
  refused("work { units: 1 cases: 1 }", "state:");
  refused("state: 's'", "work:");
  refused("state: 's' work { cases: 1 }", "work[0].units");
  refused("state: 's' work { units: 1000001 cases: 1 }", "work[0].units");
  refused("state: 's' work { units: 1 }", "work[0].cases");
  refused("state: 's' work { units: 2 cases: 1 } shared_units: 999999",
          "shared_units: with the 2 of work[0]");
}

TEST(NightConfigTest, NoTwoNightsShareASeed) {
  EXPECT_GE(FirstSeed(2), FirstSeed(1) + kSeedsOfANight);
}

}  // namespace
}  // namespace mlafuzz
