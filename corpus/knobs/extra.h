#ifndef MLAFUZZ_CORPUS_KNOBS_EXTRA_H_
#define MLAFUZZ_CORPUS_KNOBS_EXTRA_H_

#include <vector>

#include "corpus/image.h"
#include "corpus/knobs/list.h"

namespace mlafuzz::knobs {

// Whether the second cache of a decode is of a kind that must be refused, and
// the class of that.
bool ExtraIsRefused(const StepImage& step, Found& found);

// Marks the classes of a decode's second cache, or that it has none.
// `without_first[n]`: query n has no key in the first cache.
void ExtraKnobs(const CaseImage& image, const StepImage& step,
                const std::vector<bool>& without_first, Found& found);

}  // namespace mlafuzz::knobs

#endif  // MLAFUZZ_CORPUS_KNOBS_EXTRA_H_
