#ifndef MLAFUZZ_PROPERTIES_RELATIONS_DECODE_CALL_H_
#define MLAFUZZ_PROPERTIES_RELATIONS_DECODE_CALL_H_

#include <cstdint>
#include <vector>

#include "corpus/case.pb.h"
#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "properties/relations/step_relation.h"

// A decode call taken apart, to be put together another way.
namespace mlafuzz {

// The entries of one row of indices that count (those before its length), in
// lane order, masked ones included.
using Lanes = std::vector<std::int32_t>;

// One entry a query.
std::vector<Lanes> ActiveEntries(const Contract& contract,
                                 const StepImage& step);

// Whether some query has a lane that names a key.
bool HasKeys(const Contract& contract, const CaseImage& image,
             const StepImage& step);

// The step alone, with scalars of its own to change: `*call` lives as long as
// the context's reruns.
CaseImage OneDecode(const StepContext& context, Decode** call);

// Replaces the rows of indices: dense, as wide as the widest, shorter ones
// continued with -1. A length, where the call has any, becomes the row's own
// size.
void SetRows(StepImage& step, const std::vector<Lanes>& rows);

// Appends `more` lanes of -1 to every row of indices.
void WidenIndices(StepImage& step, std::int64_t more);

// Heads [first, first + count) as a call of their own, with dense tensors.
StepImage HeadsOf(const StepImage& step, std::int64_t first,
                  std::int64_t count);

// Query `query` as a call of its own.
StepImage QueryOf(const StepImage& step, std::int64_t query);

// Without the second cache.
void DropExtra(StepImage& step);

// Without the sinks.
void DropSinks(StepImage& step);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_RELATIONS_DECODE_CALL_H_
