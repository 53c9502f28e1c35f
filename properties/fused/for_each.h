#ifndef MLAFUZZ_PROPERTIES_FUSED_FOR_EACH_H_
#define MLAFUZZ_PROPERTIES_FUSED_FOR_EACH_H_

#include <cstddef>
#include <functional>

namespace mlafuzz {

// Calls body(i) for i in [0, n), on up to `threads` threads, the caller's among
// them. `body` may be called from several at once, with `piece` numbers in
// order at a time: waking a thread costs as much as a few cases, so what is
// quick has many. Several callers at once share the threads; a piece of who
// came last goes first.
void ForEach(std::size_t n, int threads,
             const std::function<void(std::size_t)>& body,
             std::size_t piece = 64);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_FUSED_FOR_EACH_H_
