#ifndef MLAFUZZ_PROPERTIES_RELATIONS_TABLE_READS_H_
#define MLAFUZZ_PROPERTIES_RELATIONS_TABLE_READS_H_

#include <cstdint>
#include <vector>

#include "corpus/image.h"

namespace mlafuzz {

// Elements of the block table's storage (TensorId::kBlockTable of a gather or
// a convert) that a valid call has to read: one entry each, true or false. Rows
// lie a stride apart; a gather reads the columns from its first token's page to
// its last's, a convert those of indices within the table's width.
std::vector<bool> TableReads(const PoolImage& pool, const StepImage& step);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_RELATIONS_TABLE_READS_H_
