#ifndef MLAFUZZ_CORPUS_WITHOUT_EFFECT_H_
#define MLAFUZZ_CORPUS_WITHOUT_EFFECT_H_

#include "absl/status/status.h"
#include "corpus/case.pb.h"

namespace mlafuzz {

// InvalidArgument for a case that says something of which BuildImage() takes no
// notice, or only a part: a value that is set past the end of its tensor, bits
// that its type does not have, an offset past what a buffer is shifted by. The
// message names the field, what is wrong and the way out. For cases that people
// wrote: those would show something else than they say. Canonicalise() takes
// all of it out, so that what a program writes never has any; but a patch
// between calls that has no byte, for the steps' numbers.
//
// Seeds and counts of which nothing comes are not looked at.
absl::Status RefuseWhatHasNoEffect(const Case& c);

}  // namespace mlafuzz

#endif  // MLAFUZZ_CORPUS_WITHOUT_EFFECT_H_
