#ifndef MLAFUZZ_FUZZ_MUTATOR_MUTATE_DECODE_H_
#define MLAFUZZ_FUZZ_MUTATOR_MUTATE_DECODE_H_

#include "corpus/case.pb.h"
#include "properties/choices.h"
#include "properties/generate.h"

namespace mlafuzz {

// One edit of a decode: a mask, a length, a split, the query, ... The result
// may need RepairCase().
void MutateDecode(Decode& decode, const Pool& pool, Choices& choices,
                  const GeneratorOptions& options);

// A part of `from` in place of that part of `decode`.
void CrossOverDecodes(const Decode& from, Choices& choices, Decode& decode);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_MUTATOR_MUTATE_DECODE_H_
