#include "properties/fused/for_each.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace mlafuzz {

void ForEach(std::size_t n, int threads,
             const std::function<void(std::size_t)>& body) {
  // A thread costs more than a few cases.
  constexpr std::size_t kPiece = 64;
  const std::size_t most = (n + kPiece - 1) / kPiece;
  const std::size_t workers =
      std::min(most, static_cast<std::size_t>(std::max(threads, 1)));
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (;;) {
      const std::size_t begin = next.fetch_add(kPiece);
      if (begin >= n) return;
      for (std::size_t i = begin; i < std::min(n, begin + kPiece); ++i) body(i);
    }
  };
  std::vector<std::thread> others;
  for (std::size_t t = 1; t < workers; ++t) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
}

}  // namespace mlafuzz
