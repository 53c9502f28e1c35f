#include "fuzz/worker/steering.h"

#include <memory>

#include "gtest/gtest.h"
#include "properties/fields.h"

namespace mlafuzz {
namespace {

constexpr auto kWriter = static_cast<std::size_t>(Kernel::kWriter);

class SteeringTest : public testing::Test {
 protected:
  SteeringTest() : status_(new WorkerStatus()) {}
  std::uint32_t WeightOf(const char* field) const {
    return SteeringWeights(*status_)[FieldNumber(field)];
  }

  std::unique_ptr<WorkerStatus> status_;
  const int tail_ = FieldNumber("writer.tail");
  const int nan_ = FieldNumber("writer.nan");
};

TEST_F(SteeringTest, NothingKnownIsAlike) {
  for (const std::uint32_t weight : SteeringWeights(*status_)) {
    EXPECT_EQ(weight, SteeringWeights(*status_)[0]);
    EXPECT_GT(weight, 0u);
  }
}

TEST_F(SteeringTest, ThePoorHaveMoreTurns) {
  status_->power_steps[kWriter] = 98;
  status_->power[tail_] = 49;  // 1/2
  status_->power[nan_] = 4;    // 1/20
  EXPECT_EQ(WeightOf("writer.nan"), 10 * WeightOf("writer.tail"));
}

TEST_F(SteeringTest, WhatDoesNotHelpHasFewer) {
  status_->power_steps[kWriter] = 98;
  EXPECT_EQ(WeightOf("writer.tail"), WeightOf("writer.nan"));
  status_->made_sampled[tail_] = 98;
  EXPECT_LT(10 * WeightOf("writer.tail"), WeightOf("writer.nan"));
  status_->made_informative[tail_] = 98;
  EXPECT_GT(WeightOf("writer.tail"), WeightOf("writer.nan"));
}

TEST_F(SteeringTest, EveryTurnComes) {
  status_->power_steps[kWriter] = 1000000;
  status_->power[tail_] = 1000000;
  status_->made_sampled[tail_] = 1000000;
  EXPECT_EQ(WeightOf("writer.tail"), 1u);
  EXPECT_LE(WeightOf("writer.nan"), 1024u);
}

}  // namespace
}  // namespace mlafuzz
