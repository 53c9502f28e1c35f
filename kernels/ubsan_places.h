#ifndef MLAFUZZ_KERNELS_UBSAN_PLACES_H_
#define MLAFUZZ_KERNELS_UBSAN_PLACES_H_

namespace mlafuzz {

// UBSan's runtime reports a place in the source once in the life of a process:
// after that the same fault of another case passes unseen, and what is seen of
// a case depends on those before it. After this call every place that has
// reported so far may report once more. Inert without UBSan. One thread.
void LetUbsanPlacesReportAgain();

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_UBSAN_PLACES_H_
