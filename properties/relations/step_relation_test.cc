#include "properties/relations/step_relation.h"

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "corpus/codec.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

// A write of rows 0 and 1, and what a relation needs to run it again.
class RerunTest : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<Case> c = ParseCaseText(R"pb(
      pool { page_size: 1 pages: 2 }
      steps {
        write {
          slots { values: [ 0, 1 ] }
          pe_dim: 64
        }
      }
    )pb");
    ASSERT_TRUE(c.ok()) << c.status();
    case_ = *c;
    absl::StatusOr<CaseImage> image = BuildImage(case_);
    ASSERT_TRUE(image.ok()) << image.status();
    image_ = *std::move(image);
    absl::StatusOr<TargetSet> targets = MakeTargetSet("builtin");
    ASSERT_TRUE(targets.ok()) << targets.status();
    targets_ = *std::move(targets);
    for (const Kernel k : kAllKernels) {
      contracts_[static_cast<std::size_t>(k)] = &targets_.For(k)->contract();
    }
    const absl::Status ran =
        executor_->Run(targets_, {&image_, 1}, &observations_);
    ASSERT_TRUE(ran.ok()) << ran;
    pool_ = image_.pool.bytes;
    context_.emplace(StepContext{targets_, *executor_, contracts_, image_, 0,
                                 image_.steps[0], observations_[0].steps[0],
                                 pool_, choices_, reruns_});
  }

  // What comes of the call with these slots; `calls`: how many were made.
  Finding WithSlots(const std::vector<std::int64_t>& slots,
                    std::uint64_t* calls) {
    CaseImage image = OneStep(*context_);
    Tensor& mapping = *image.steps[0].Find(TensorId::kSlotMapping);
    std::memcpy(mapping.bytes.data(), slots.data(), 8 * slots.size());
    const std::uint64_t before = executor_->executions()[0];
    Finding finding;
    Observation observation;
    const absl::Status s = Rerun(*context_, image, &observation, &finding);
    EXPECT_TRUE(s.ok()) << s;
    *calls = executor_->executions()[0] - before;
    return finding;
  }

  Case case_;
  CaseImage image_;
  TargetSet targets_;
  Contracts contracts_ = {};
  std::unique_ptr<Executor> executor_ = MakeHostExecutor();
  std::vector<Observation> observations_;
  std::vector<std::uint8_t> pool_;
  Choices choices_{1};
  Reruns reruns_;
  std::optional<StepContext> context_;
};

TEST_F(RerunTest, RunsWhatTheContractDemands) {
  std::uint64_t calls = 0;
  EXPECT_EQ(WithSlots({1, 0}, &calls).verdict, Verdict::kPass);
  EXPECT_EQ(calls, 1);
  // No token is stored: an edge, and documented.
  EXPECT_EQ(WithSlots({-1, -1}, &calls).verdict, Verdict::kPass);
  EXPECT_EQ(calls, 1);
}

TEST_F(RerunTest, LeavesOutWhatIsTheCallersDuty) {
  std::uint64_t calls = 0;
  const Finding finding = WithSlots({1, 1}, &calls);
  EXPECT_EQ(finding.verdict, Verdict::kSkipped);
  EXPECT_NE(finding.detail.find("writer.duplicate_slots"), std::string::npos)
      << finding.detail;
  EXPECT_EQ(calls, 0);
  EXPECT_TRUE(reruns_.images.empty());
}

TEST_F(RerunTest, LeavesOutWhatMustBeRefused) {
  // 64 is not among the widths that this one takes.
  Contract narrow = *contracts_[static_cast<std::size_t>(Kernel::kWriter)];
  narrow.mutable_writer()->clear_pe_dims();
  narrow.mutable_writer()->add_pe_dims(0);
  contracts_[static_cast<std::size_t>(Kernel::kWriter)] = &narrow;
  std::uint64_t calls = 0;
  const Finding finding = WithSlots({1, 0}, &calls);
  EXPECT_EQ(finding.verdict, Verdict::kSkipped);
  EXPECT_NE(finding.detail.find("writer.pe_dim"), std::string::npos)
      << finding.detail;
  EXPECT_EQ(calls, 0);
}

TEST_F(RerunTest, LeavesOutCallsOfAKernelThatIsNotThere) {
  contracts_[static_cast<std::size_t>(Kernel::kWriter)] = nullptr;
  std::uint64_t calls = 0;
  EXPECT_EQ(WithSlots({1, 0}, &calls).verdict, Verdict::kSkipped);
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace mlafuzz
