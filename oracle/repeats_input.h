#ifndef MLAFUZZ_ORACLE_REPEATS_INPUT_H_
#define MLAFUZZ_ORACLE_REPEATS_INPUT_H_

#include <cstdint>

#include "oracle/compared_step.h"

namespace mlafuzz::oracle {

// Rows of the result in which raw bytes of the input stand: of a writer those
// of kv_c where codes should, of a gather those of the cache row, of an index
// conversion the token numbers. `wrong`: only of rows that should hold others.
// 0 of decodes, and of gathers that are to copy bytes.
std::int64_t RowsThatRepeatInput(const ComparedStep& compared, bool wrong);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_REPEATS_INPUT_H_
