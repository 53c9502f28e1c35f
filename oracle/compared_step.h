#ifndef MLAFUZZ_ORACLE_COMPARED_STEP_H_
#define MLAFUZZ_ORACLE_COMPARED_STEP_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "oracle/damage.h"
#include "oracle/expect.h"
#include "oracle/layout.h"

namespace mlafuzz::oracle {

// A writer's, gather's or index conversion's step that returned, beside what
// its contract expects of it: where every question of why it is wrong starts.
// Views; what they are of must outlive this.
struct ComparedStep {
  ComparedStep(const Contract& contract, const CaseImage& image, int step,
               absl::Span<const std::uint8_t> pool_before,
               const Expectation& expected, const AfterImage& after)
      : contract(contract),
        image(image),
        index(step),
        step(image.steps[static_cast<std::size_t>(step)]),
        layout(LayoutOf(image.pool.layout)),
        before(pool_before),
        expected(expected),
        after(after) {}

  const Contract& contract;  // declared for the step's kernel
  const CaseImage& image;
  const int index;  // of the step
  const StepImage& step;
  const RowLayout& layout;                      // of the pool's rows
  const absl::Span<const std::uint8_t> before;  // the pool's bytes
  const Expectation& expected;                  // what the contract predicts
  const AfterImage& after;                      // what came back

  // The pool that is expected.
  absl::Span<const std::uint8_t> wanted_pool() const {
    return ExpectedPool(expected, before);
  }
};

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_COMPARED_STEP_H_
