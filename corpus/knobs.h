#ifndef MLAFUZZ_CORPUS_KNOBS_H_
#define MLAFUZZ_CORPUS_KNOBS_H_

#include <cstdint>
#include <vector>

#include "corpus/image.h"
#include "corpus/types.pb.h"

namespace mlafuzz {

// A value class of the corner table: a range of one knob in which real kernels
// have broken ("page size 1", "slot -1", "a -1 in front of the indices").
struct Knob {
  const char* name;  // "slots/last", "tile/midpoint", "block-table/narrowed"
  Kernel kernel;     // the kernel it exercises
};

// All classes, in a fixed order; an index into this is a knob's number.
const std::vector<Knob>& AllKnobs();

// Whether cases of this layout can exercise class `knob`, a number. An index
// conversion does not look at the cache. Writers and gathers have classes of
// FP8_DS_MLA alone, but those of whole programs; decodes of every layout that
// has one, as far as it has what the class is about (fp32 scales or scale
// bytes, rope, a second cache).
bool KnobApplies(int knob, Layout layout);

// Numbers of the classes that a case exercises, ascending, each once. Computed
// from the case's bytes, not from how they were generated, so that a mutated
// case counts for what it is.
std::vector<int> ExercisedKnobs(const CaseImage& image);

}  // namespace mlafuzz

#endif  // MLAFUZZ_CORPUS_KNOBS_H_
