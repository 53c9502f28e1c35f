#include "properties/combined_executor.h"

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/target_set.h"

namespace mlafuzz {
namespace {

// Tells each case by its pool's number of pages; refuses those of none.
class Counts : public Executor {
 public:
  absl::Status Run(const TargetSet&, absl::Span<const CaseImage> images,
                   std::vector<Observation>* observations) override {
    EXPECT_FALSE(busy_.exchange(true));
    ++batches;
    observations->clear();
    for (const CaseImage& image : images) {
      if (image.pool.pages == 0) {
        busy_ = false;
        return absl::UnavailableError("no pages");
      }
      observations->emplace_back().earlier_calls =
          static_cast<std::uint64_t>(image.pool.pages);
      ++cases;
    }
    busy_ = false;
    return absl::OkStatus();
  }
  const std::array<std::uint64_t, kAllKernels.size()>& executions()
      const override {
    return executions_;
  }
  int batches = 0;
  int cases = 0;

 private:
  std::array<std::uint64_t, kAllKernels.size()> executions_ = {};
  std::atomic<bool> busy_{false};
};

TEST(CombinedExecutor, EachHasItsOwnInFewerBatches) {
  constexpr int kThreads = 8;
  constexpr int kRuns = 200;
  Counts counts;
  CombinedExecutor combined(counts);
  const TargetSet sets[2];
  std::vector<std::thread> threads;
  std::atomic<int> asked{0};
  std::latch all_at_work(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      // Threads come and go.
      for (int run = 0; run < kRuns;) {
        const CombinedExecutor::Part part(combined);
        if (run == 0) all_at_work.arrive_and_wait();
        for (int i = 0; i <= t && run < kRuns; ++i, ++run) {
          std::vector<CaseImage> images(static_cast<std::size_t>(run % 4));
          for (std::size_t k = 0; k < images.size(); ++k) {
            images[k].pool.pages =
                1 + 1000 * t + 10 * run + static_cast<std::int64_t>(k);
          }
          std::vector<Observation> seen;
          ASSERT_TRUE(combined.Run(sets[t % 2], images, &seen).ok());
          ASSERT_EQ(seen.size(), images.size());
          for (std::size_t k = 0; k < images.size(); ++k) {
            ASSERT_EQ(seen[k].earlier_calls,
                      static_cast<std::uint64_t>(images[k].pool.pages));
          }
          asked += static_cast<int>(images.size());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counts.cases, asked);
  // The first of all at least: one batch for each set of targets.
  EXPECT_LE(counts.batches, kThreads * (kRuns - 1) + 2);
}

TEST(CombinedExecutor, AnExecutorThatCannotGoOnTellsAll) {
  Counts counts;
  CombinedExecutor combined(counts);
  const TargetSet set;
  std::vector<std::thread> threads;
  std::atomic<int> told{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const CombinedExecutor::Part part(combined);
      const std::vector<CaseImage> none(1);
      std::vector<Observation> seen;
      told += absl::IsUnavailable(combined.Run(set, none, &seen)) ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(told, 4);
}

}  // namespace
}  // namespace mlafuzz
