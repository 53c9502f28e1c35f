#ifndef MLAFUZZ_PROPERTIES_FUSED_FOR_EACH_H_
#define MLAFUZZ_PROPERTIES_FUSED_FOR_EACH_H_

#include <cstddef>
#include <functional>

namespace mlafuzz {

// Calls body(i) for i in [0, n), on up to `threads` threads, the caller's among
// them. `body` may be called from several at once.
void ForEach(std::size_t n, int threads,
             const std::function<void(std::size_t)>& body);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_FUSED_FOR_EACH_H_
