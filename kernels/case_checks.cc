#include "kernels/case_checks.h"

#include <cstddef>
#include <cstring>

#include "corpus/image.h"
#include "corpus/observation.h"
#include "gtest/gtest.h"
#include "kernels/test_support.h"

namespace mlafuzz::test {

void ExpectEveryScheduleGivesTheSame(const std::string& target, const Case& c) {
  const Observation first = Run(target, Image(c));
  ASSERT_EQ(first.steps[0].status, CallStatus::kOk) << first.steps[0].message;
  Case other = c;
  for (std::uint64_t schedule = 1; schedule <= 200; ++schedule) {
    other.set_schedule(schedule * 0x9e3779b97f4a7c15u + schedule);
    ASSERT_TRUE(SameOutcome(Run(target, Image(other)), first)) << schedule;
  }
}

std::vector<std::int32_t> Ints(const std::vector<std::uint8_t>& bytes) {
  std::vector<std::int32_t> values(bytes.size() / 4);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

Converted Convert(const std::string& target, const std::string& text) {
  const CaseImage image = Image(ParseCase(text));
  const Observation seen = Run(target, image);
  const StepObservation& step = seen.steps[0];
  EXPECT_EQ(step.status, CallStatus::kOk) << step.message;
  EXPECT_TRUE(step.strays.empty());
  Converted result;
  for (std::size_t i = 0; i < image.steps[0].tensors.size(); ++i) {
    const TensorId id = image.steps[0].tensors[i].id;
    if (id == TensorId::kOut) result.out = Ints(step.outputs[i]);
    if (id == TensorId::kValidCount) result.valid_count = Ints(step.outputs[i]);
  }
  return result;
}

}  // namespace mlafuzz::test
