#ifndef MLAFUZZ_PROPERTIES_MINIMIZE_SEARCH_H_
#define MLAFUZZ_PROPERTIES_MINIMIZE_SEARCH_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>

#include "corpus/case.pb.h"
#include "properties/generate.h"
#include "properties/minimize/cost.h"
#include "properties/minimize/minimize.h"

namespace mlafuzz::minimize {

// The best case so far, and what becomes of an attempt to make it plainer.
class Search {
 public:
  // All must outlive the search.
  Search(const Case& c, const MinimizeOptions& options,
         const std::function<bool(const Case&)>& still_fails,
         const std::function<void(const MinimizeProgress&)>& progress);

  const Case& best() const { return best_; }
  const CaseCost& cost() const { return cost_; }  // of the best
  // Of tries or of time.
  bool Exhausted() const;

  // Keeps `c` if it is plainer and still fails; else as repaired.
  bool Try(Case c);

  // Tries the best case after `edit`.
  template <typename Edit>
  bool TryEdit(const Edit& edit) {
    Case c = best_;
    edit(c);
    return Try(std::move(c));
  }

  // Tries `set` on the best case with values in [least, now): the first few,
  // then doubling, then between the last two by halves, then one less.
  template <typename Set>
  bool Lower(std::uint64_t now, std::uint64_t least, const Set& set) {
    if (now <= least) return false;
    const auto kept = [&](std::uint64_t v) {
      return TryEdit([&](Case& c) { set(c, v); });
    };
    std::uint64_t passes = least;  // the largest that did not fail
    for (std::uint64_t v = least; v < now;
         v = v < least + 4 ? v + 1 : std::max(2 * v, v + 1)) {
      if (!kept(v)) {
        passes = v;
        continue;
      }
      now = v;
      while (now - passes > 1 && now > least) {
        const std::uint64_t middle = passes + (now - passes) / 2;
        if (kept(middle)) {
          now = middle;
        } else {
          passes = middle;
        }
      }
      return true;
    }
    if (now - passes <= 1) return false;
    bool progress = false;
    while (now - passes > 1) {
      const std::uint64_t middle = passes + (now - passes) / 2;
      if (kept(middle)) {
        now = middle;
        progress = true;
      } else {
        passes = middle;
      }
    }
    return progress;
  }

  // Whether `c` fails. Asks once only, so that a round without progress costs
  // next to nothing.
  bool Fails(const Case& c);

  // Takes `c` as the best, whatever it costs.
  void Keep(const Case& c, const CaseCost& cost);

 private:
  bool TryAsIs(const Case& c);

  Case best_;
  CaseCost cost_;
  const MinimizeOptions options_;
  const std::function<bool(const Case&)>& still_fails_;
  const std::function<void(const MinimizeProgress&)>& report_;
  const std::chrono::steady_clock::time_point start_;
  MinimizeProgress progress_;
  GeneratorOptions repair_;  // what a repaired case may hold
  bool repairable_ = false;
  std::unordered_map<std::uint64_t, bool> asked_;
};

}  // namespace mlafuzz::minimize

#endif  // MLAFUZZ_PROPERTIES_MINIMIZE_SEARCH_H_
