#include "fuzz/command/arguments.h"

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

const std::vector<Flag>& Flags() {
  static const auto* flags = new std::vector<Flag>{
      {"time", "120s", "how long"},
      {"jobs", "N", "how many"},
      {"stop-on-first", nullptr, "stop"},
  };
  return *flags;
}

std::string Error(const std::vector<std::string>& typed) {
  const auto arguments = Arguments::Parse(typed, Flags());
  return arguments.ok() ? "" : std::string(arguments.status().message());
}

TEST(Arguments, BothSpellings) {
  const auto a = Arguments::Parse(
      {"--time=2m", "case", "--jobs", "3", "--stop-on-first", "--", "--x"},
      Flags());
  ASSERT_TRUE(a.ok()) << a.status();
  EXPECT_EQ(a->Get("time"), "2m");
  EXPECT_EQ(*a->Number("jobs", 1), 3u);
  EXPECT_TRUE(a->Has("stop-on-first"));
  EXPECT_EQ(a->positional(), (std::vector<std::string>{"case", "--x"}));
}

TEST(Arguments, AnUnknownFlagNamesTheNearest) {
  EXPECT_EQ(Error({"--tiem=2m"}), "unknown flag --tiem; nearest: --time");
  EXPECT_EQ(Error({"--stop-on-frist"}),
            "unknown flag --stop-on-frist; nearest: --stop-on-first");
  EXPECT_EQ(Error({"--zzzzzzzzzzzzzzzzzzzzzzzz"}),
            "unknown flag --zzzzzzzzzzzzzzzzzzzzzzzz; see --help");
}

TEST(Arguments, MissingAndSurplusValues) {
  EXPECT_EQ(Error({"--time"}), "--time needs a value: --time=120s");
  EXPECT_EQ(Error({"--time="}),
            "--time is empty; it needs a value: --time=120s");
  EXPECT_EQ(Error({"--jobs", ""}),
            "--jobs is empty; it needs a value: --jobs=N");
  EXPECT_EQ(Error({"--stop-on-first=yes"}),
            "--stop-on-first takes no value, got \"yes\"");
}

TEST(Arguments, NumbersAreDigits) {
  for (const char* bad : {"-1", "1x", "99999999999999999999", " 1"}) {
    const auto a = Arguments::Parse({std::string("--jobs=") + bad}, Flags());
    ASSERT_TRUE(a.ok());
    EXPECT_FALSE(a->Number("jobs", 1).ok()) << bad;
  }
  EXPECT_EQ(*Arguments::Parse({}, Flags())->Number("jobs", 7), 7u);
}

TEST(Duration, Units) {
  EXPECT_EQ(*ParseDuration("120s"), 120);
  EXPECT_EQ(*ParseDuration("90"), 90);
  EXPECT_EQ(*ParseDuration("2m"), 120);
  EXPECT_EQ(*ParseDuration("1.5h"), 5400);
}

TEST(Duration, Range) {
  EXPECT_EQ(*ParseDuration("0.1s"), 0.1);
  EXPECT_EQ(*ParseDuration("8760h"), 8760 * 3600.0);
  for (const char* bad :
       {"0", "0s", "0.001", "0.05", "8761h", "99999999999999999999"}) {
    const auto seconds = ParseDuration(bad);
    ASSERT_FALSE(seconds.ok()) << bad;
    EXPECT_EQ(seconds.status().message(),
              "\"" + std::string(bad) +
                  "\" is out of range; durations are 0.1s to 8760h");
  }
  const auto a = Arguments::Parse({"--time=0.001"}, Flags());
  EXPECT_EQ(a->Seconds("time", 1).status().message(),
            "--time: \"0.001\" is out of range; durations are 0.1s to 8760h");
  EXPECT_EQ(*Arguments::Parse({}, Flags())->Seconds("time", 7), 7);
}

TEST(Duration, WhatIsNone) {
  for (const char* bad : {"", "s", "-1s", "1d", "1e9", "2m30s", "1 s", "nan",
                          "inf", "0x10s", "1.2.3s"}) {
    EXPECT_FALSE(ParseDuration(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace mlafuzz
