#ifndef MLAFUZZ_ORACLE_SOME_ROWS_H_
#define MLAFUZZ_ORACLE_SOME_ROWS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "corpus/image.h"
#include "oracle/damage.h"
#include "oracle/expect.h"

namespace mlafuzz::oracle {

// Whether a writer, gather or index conversion kept another rule for some of
// its rows and the declared one for the others: a rule under a condition, which
// predicts no call as a whole. Rows are slots of the pool, rows of dst, and of
// an index conversion single elements of its outputs.
//
// Returns how many rows `other`, the expectation under that rule, predicts
// byte for byte where `expected` does not; 0 unless these are all that are
// wrong, and some row would be wrong under `other`. Of a row that holds what it
// held before nobody knows which rule left it alone: such a row counts for no
// rule but of an index conversion, which writes nothing else. 0 as well where
// either expectation leaves something open.
std::int64_t RowsUnderOtherRule(const CaseImage& image, int step,
                                absl::Span<const std::uint8_t> pool_before,
                                const Expectation& expected,
                                const Expectation& other,
                                const AfterImage& after);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_SOME_ROWS_H_
