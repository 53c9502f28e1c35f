#include "fuzz/state/merge.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "fuzz/state/testing/contents.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace mlafuzz {
namespace {

namespace fs = std::filesystem;

using Object = std::pair<int, std::string>;  // number of the kind, bytes
using Objects = std::set<Object>;

State Make(const std::string& name, const Objects& objects = {}) {
  const std::string path = absl::StrCat(testing::TempDir(), "/", name);
  fs::remove_all(path);
  auto state = State::OpenOrMake(path);
  EXPECT_TRUE(state.ok()) << state.status();
  for (const auto& [kind, bytes] : objects) {
    EXPECT_TRUE(
        state->Put(kAllKinds[static_cast<std::size_t>(kind)], bytes).ok());
  }
  return *std::move(state);
}

// Few different ones, so that shards share some.
rc::Gen<Objects> AnyObjects() {
  return rc::gen::container<Objects>(
      rc::gen::pair(rc::gen::inRange(0, static_cast<int>(kAllKinds.size())),
                    rc::gen::map(rc::gen::inRange(0, 12), [](int n) {
                      return std::string(static_cast<std::size_t>(n * n), 'a');
                    })));
}

rc::Gen<std::vector<Objects>> AnyShards() {
  return rc::gen::resize(
      8, rc::gen::container<std::vector<Objects>>(AnyObjects()));
}

void MergeInto(State& into, const State& from) {
  const auto merged = Merge(from, into);
  RC_ASSERT(merged.ok());
  RC_ASSERT(merged->damaged.empty());
}

RC_GTEST_PROP(Merge, GivesTheSameBytesInAnyOrderAndGrouping, ()) {
  const auto all = *AnyShards();
  std::vector<State> shards;
  Objects expected;
  for (const Objects& objects : all) {
    shards.push_back(Make(absl::StrCat("shard", shards.size()), objects));
    expected.insert(objects.begin(), objects.end());
  }
  const auto wanted = Contents(Make("wanted", expected).path());

  std::vector<std::size_t> order(shards.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  State forward = Make("forward");
  for (const std::size_t i : order) MergeInto(forward, shards[i]);
  RC_ASSERT(Contents(forward.path()) == wanted);
  // Commutative: any order.
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[*rc::gen::inRange<std::size_t>(0, i)]);
  }
  State shuffled = Make("shuffled");
  for (const std::size_t i : order) MergeInto(shuffled, shards[i]);
  RC_ASSERT(Contents(shuffled.path()) == wanted);
  // Associative: groups first.
  State left = Make("left"), right = Make("right"), both = Make("both");
  for (const std::size_t i : order) {
    MergeInto(*rc::gen::arbitrary<bool>() ? left : right, shards[i]);
  }
  MergeInto(both, left);
  MergeInto(both, right);
  RC_ASSERT(Contents(both.path()) == wanted);
  // Idempotent: again, and itself.
  MergeInto(both, both);
  for (const State& shard : shards) MergeInto(both, shard);
  RC_ASSERT(Contents(both.path()) == wanted);
}

// As many processes of a fleet would.
RC_GTEST_PROP(Merge, GivesTheSameBytesFromAnyNumberOfJobs, ()) {
  const auto all = *AnyShards();
  std::vector<State> shards;
  Objects expected;
  for (const Objects& objects : all) {
    shards.push_back(Make(absl::StrCat("shard", shards.size()), objects));
    expected.insert(objects.begin(), objects.end());
  }
  const std::string into = Make("into").path();
  std::vector<std::thread> jobs;
  std::vector<int> ok(shards.size() * 2, 0);
  for (std::size_t i = 0; i < ok.size(); ++i) {
    jobs.emplace_back([&, i] {
      auto state = State::Open(into);
      ok[i] = state.ok() && Merge(shards[i % shards.size()], *state).ok();
    });
  }
  for (std::thread& job : jobs) job.join();
  RC_ASSERT(std::count(ok.begin(), ok.end(), 0) == 0);
  RC_ASSERT(Contents(into) == Contents(Make("wanted", expected).path()));
}

TEST(MergeDamaged, IsNamedAndNeverCopiedAndTheRestIs) {
  State from = Make("from", {{0, "one"}, {1, "two"}});
  const std::string bad = from.FolderOf(Kind::kCase) + "/" + ContentId("one");
  std::ofstream(bad) << "o";
  State into = Make("into");
  const auto merged = Merge(from, into);
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_EQ(merged->added, 1u);
  ASSERT_EQ(merged->damaged.size(), 1u);
  EXPECT_NE(merged->damaged[0].find(bad), std::string::npos);
  EXPECT_TRUE(into.List(Kind::kCase)->empty());
  EXPECT_TRUE(fs::exists(bad));
}

TEST(MergeDamaged, IsMendedByAWholeCopy) {
  const State from = Make("from", {{0, "one"}});
  State into = Make("into", {{0, "one"}});
  std::ofstream(into.FolderOf(Kind::kCase) + "/" + ContentId("one")) << "o";
  const auto merged = Merge(from, into);
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_EQ(merged->added, 1u);
  EXPECT_EQ(Contents(into.path()), Contents(from.path()));
}

}  // namespace
}  // namespace mlafuzz
