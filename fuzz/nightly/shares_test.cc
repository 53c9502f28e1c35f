#include "fuzz/nightly/shares.h"

#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "corpus/codec.h"
#include "fuzz/nightly/config.h"
#include "fuzz/state/records.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

using Units = std::vector<std::uint64_t>;

Yield Of(std::uint64_t cases, std::uint64_t kept, std::uint64_t informative,
         std::uint64_t knobs = 0) {
  return {1, cases, 100, informative, kept, knobs};
}

TEST(ShareUnits, GoToWhatStillPays) {
  // Nine times as many news a case, all else alike.
  EXPECT_EQ(ShareUnits(20, {Of(9998, 89, 50), Of(9998, 9, 50)}),
            (Units{18, 2}));
  // Half of what it reaches can be told from wrong.
  EXPECT_EQ(ShareUnits(30, {Of(9998, 99, 100), Of(9998, 99, 50)}),
            (Units{20, 10}));
  // A value class is news as well.
  EXPECT_EQ(ShareUnits(20, {Of(9998, 0, 100, 89), Of(9998, 9, 100)}),
            (Units{18, 2}));
  // Nothing can be told of it.
  EXPECT_EQ(ShareUnits(7, {Of(9998, 99, 0), Of(9998, 0, 1)}), (Units{0, 7}));
}

TEST(ShareUnits, AreAllGivenOut) {
  const std::vector<std::vector<Yield>> works = {
      {Of(10, 1, 100), Of(10, 1, 100), Of(10, 1, 100)},
      {Of(10, 1, 0), Of(10, 1, 0)},  // nothing pays
      {Yield(), Yield()},            // a first night
      {Of(9998, 99, 50), Yield()},   // one that is new pays most
      {Of(12345, 17, 33, 2), Of(777, 1, 99), Of(5, 0, 1), Yield()}};
  for (const std::vector<Yield>& yields : works) {
    for (const std::uint64_t units : {0u, 1u, 2u, 7u, 1000u}) {
      const Units shares = ShareUnits(units, yields);
      ASSERT_EQ(shares.size(), yields.size());
      EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), 0ul), units);
      EXPECT_EQ(ShareUnits(units, yields), shares);
    }
  }
  EXPECT_EQ(ShareUnits(7, works[0]), (Units{3, 2, 2}));
  EXPECT_EQ(ShareUnits(5, works[1]), (Units{3, 2}));
  EXPECT_EQ(ShareUnits(6, works[2]), (Units{3, 3}));
  EXPECT_EQ(ShareUnits(100, works[3])[1], 99u);
}

TEST(YieldsOf, AreThoseOfOneNightAndWork) {
  const std::string path = testing::TempDir() + "/state";
  std::filesystem::remove_all(path);
  auto state = State::OpenOrMake(path);
  ASSERT_TRUE(state.ok()) << state.status();
  const auto put = [&](int page_size, std::vector<int> slots) {
    Case c;
    c.mutable_pool()->set_page_size(static_cast<std::uint32_t>(page_size));
    c.mutable_pool()->set_pages(2);
    auto* write = c.add_steps()->mutable_write();
    for (const int slot : slots) write->mutable_slots()->add_values(slot);
    return *state->Put(Kind::kCase, CanonicalBinary(c));
  };
  const std::string first = put(4, {2});
  const std::string same = put(4, {3, 2});
  const std::string negative = put(1, {-1, 1});
  const auto epoch = StartEpoch(*state, {first});
  ASSERT_TRUE(epoch.ok()) << epoch.status();
  const auto unit = [&](std::uint64_t seed, const std::string& targets,
                        const std::string& kernel,
                        const std::vector<std::string>& kept) {
    Unit u;
    u.mutable_key()->set_epoch(epoch->id);
    u.mutable_key()->set_seed(seed);
    u.mutable_key()->set_targets(targets);
    u.mutable_key()->add_kernels(kernel);
    u.set_cases(100);
    u.set_checks(10);
    u.set_informative(4);
    for (const std::string& id : kept) u.add_kept(id);
    ASSERT_TRUE(state->Put(Kind::kUnit, RecordBytes(u)).ok());
  };
  unit(FirstSeed(2), "a", "writer", {same});
  unit(FirstSeed(2) + 1, "a", "writer", {negative, same});
  unit(FirstSeed(2), "a", "gather", {negative});
  unit(FirstSeed(3), "a", "writer", {same});
  unit(FirstSeed(2) - 1, "a", "writer", {same});
  unit(FirstSeed(2), "b", "writer", {});
  const auto yields = YieldsOf(
      *state, 2, {{"a", {"writer"}}, {"b", {"writer"}}, {"c", {"writer"}}});
  ASSERT_TRUE(yields.ok()) << yields.status();
  const Yield& a = (*yields)[0];
  EXPECT_EQ(a.units, 2u);
  EXPECT_EQ(a.cases, 200u);
  EXPECT_EQ(a.informative, 8u);
  EXPECT_EQ(a.kept, 3u);
  EXPECT_GE(a.knobs, 2u);  // a page of one token, a negative slot
  EXPECT_EQ((*yields)[1].kept, 0u);
  EXPECT_EQ((*yields)[1].knobs, 0u);
  EXPECT_EQ((*yields)[2].units, 0u);
  EXPECT_EQ(YieldText((*yields)[2]), "has not run yet");
  EXPECT_EQ(YieldText((*yields)[1]),
            "0.0000 new of a case, 40 % informative, 0 new value classes");
}

}  // namespace
}  // namespace mlafuzz
