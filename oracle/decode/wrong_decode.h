#ifndef MLAFUZZ_ORACLE_DECODE_WRONG_DECODE_H_
#define MLAFUZZ_ORACLE_DECODE_WRONG_DECODE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "oracle/decode/decode.h"
#include "oracle/decode/observed_rows.h"

namespace mlafuzz::oracle {

// A decode that returned and that its contract forbids in some rows: where
// every question of why starts. Views; what they are of must outlive this.
struct WrongDecode {
  // `rows` are well formed.
  WrongDecode(const Contract& contract, const CaseImage& image, int step,
              absl::Span<const std::uint8_t> pool_before,
              const ObservedRows& rows)
      : contract(contract),
        image(image),
        index(step),
        step(image.steps[static_cast<std::size_t>(step)]),
        before(pool_before),
        rows(rows),
        declared(ExpectDecode(contract, image, step, pool_before)) {
    for (std::int64_t row = 0; row < declared.rows(); ++row) {
      if (!rows.RowMatches(declared, row)) wrong.push_back(row);
    }
  }

  // What another contract, or a kernel with a fault, would have left.
  DecodeExpectation Expect(const Contract& other,
                           const ExpectOptions& options = {}) const {
    return ExpectDecode(other, image, index, before, options);
  }

  const Contract& contract;  // declared
  const CaseImage& image;
  const int index;  // of the step
  const StepImage& step;
  const absl::Span<const std::uint8_t> before;  // the pool's bytes
  const ObservedRows& rows;                     // what came back
  const DecodeExpectation declared;             // what the contract predicts
  std::vector<std::int64_t> wrong;              // rows that it forbids
};

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DECODE_WRONG_DECODE_H_
