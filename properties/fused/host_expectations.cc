#include "properties/fused/host_expectations.h"

#include <algorithm>
#include <cstring>

#include "absl/types/span.h"
#include "properties/fused/for_each.h"

namespace mlafuzz {

Expectation& HostExpectations::At(std::size_t m, std::size_t step) {
  auto& steps = expected_[m];
  if (steps.empty()) steps.resize(fused_.shape().steps.size());
  return steps[step];
}

bool HostExpectations::Expect(std::size_t m, std::size_t step) {
  Expectation& expected = At(m, step);
  const CaseImage& member = *fused_.members()[m];
  const Kernel kernel = member.steps[step].kernel;
  if (kernel == Kernel::kDecode) return true;
  absl::Span<const std::uint8_t> before = member.pool.bytes;
  for (std::size_t i = 0; i < step; ++i) {
    const auto& after = expected_[m][i].pool;
    if (!after.empty()) before = after;
  }
  expected = mlafuzz::Expect(*contracts_[static_cast<std::size_t>(kernel)],
                             member, static_cast<int>(step), before);
  return expected.unsettled.empty() && expected.outside_writes == 0;
}

void HostExpectations::ExpectAll(std::size_t end, int threads) {
  ForEach(expected_.size(), threads, [&](std::size_t m) {
    for (std::size_t step = 0; step < end; ++step) (void)Expect(m, step);
  });
}

bool HostExpectations::ChangesPool(std::size_t step) const {
  return std::any_of(
      expected_.begin(), expected_.end(),
      [&](const auto& member) { return !member[step].pool.empty(); });
}

void HostExpectations::LayPages(std::size_t m, std::size_t step,
                                std::uint8_t* pool) const {
  const CaseImage& member = *fused_.members()[m];
  const std::vector<std::uint8_t>* bytes = &member.pool.bytes;
  for (std::size_t i = 0; i <= step; ++i) {
    const auto& after = expected_[m][i].pool;
    if (!after.empty()) bytes = &after;
  }
  const FusedCase::Place pages = fused_.PagesOf(m);
  std::memcpy(pool + pages.begin, bytes->data() + member.pool.offset,
              pages.size);
}

}  // namespace mlafuzz
