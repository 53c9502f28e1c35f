#ifndef MLAFUZZ_CORPUS_CASE_LIMITS_H_
#define MLAFUZZ_CORPUS_CASE_LIMITS_H_

namespace mlafuzz {

// More calls than any real use of one pool; keeps a hostile case finite.
inline constexpr int kMaxSteps = 4096;

}  // namespace mlafuzz

#endif  // MLAFUZZ_CORPUS_CASE_LIMITS_H_
