#ifndef MLAFUZZ_CORPUS_KNOBS_H_
#define MLAFUZZ_CORPUS_KNOBS_H_

#include <cstdint>
#include <vector>

#include "corpus/image.h"

namespace mlafuzz {

// A value class of the corner table: a range of one knob in which real kernels
// have broken ("page size 1", "slot -1", "a -1 in front of the indices").
struct Knob {
  const char* name;  // "slots/last", "tile/midpoint", "block-table/narrowed"
  Kernel kernel;     // the kernel it exercises
};

// All classes, in a fixed order; an index into this is a knob's number.
const std::vector<Knob>& AllKnobs();

// Numbers of the classes that a case exercises, ascending, each once. Computed
// from the case's bytes, not from how they were generated, so that a mutated
// case counts for what it is.
std::vector<int> ExercisedKnobs(const CaseImage& image);

}  // namespace mlafuzz

#endif  // MLAFUZZ_CORPUS_KNOBS_H_
