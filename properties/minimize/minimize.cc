#include "properties/minimize/minimize.h"

#include "properties/minimize/reduce.h"
#include "properties/minimize/search.h"

// How it works. Reductions are tried one by one, large ones first; one is kept
// if the case still fails and costs strictly less (cost.h). Rounds of all
// reductions repeat until a whole round keeps none: then no reduction of the
// result can be kept, which is why a second run makes no progress.
//
// Generated values cannot be thinned out, so where little of them is left they
// are first written out, value by value, and then dropped by halves (ddmin,
// Zeller and Hildebrandt 2002).
namespace mlafuzz {

Case Minimize(const Case& c, const MinimizeOptions& options,
              const std::function<bool(const Case&)>& still_fails,
              const std::function<void(const MinimizeProgress&)>& report) {
  minimize::Search search(c, options, still_fails, report);
  bool progress = true;
  while (progress && !search.Exhausted()) {
    progress = false;
    progress |= minimize::DropSteps(search);
    progress |= minimize::PlainPool(search);
    progress |= minimize::SmallerPool(search);
    for (int i = 0; i < search.best().steps_size(); ++i) {
      switch (search.best().steps(i).call_case()) {
        case Step::kWrite:
          progress |= minimize::ReduceWrite(search, i);
          break;
        case Step::kGather:
          progress |= minimize::ReduceGather(search, i);
          break;
        case Step::kConvert:
          progress |= minimize::ReduceConvert(search, i);
          break;
        case Step::kDecode:
          progress |= minimize::ReduceDecode(search, i);
          break;
        case Step::kPatch:
          progress |= minimize::ReducePatch(search, i);
          break;
        default:
          break;
      }
    }
    // Last: plain contents make many tables alike, and leave fewer ways on.
    if (!progress) progress = minimize::PlainFill(search);
  }
  return search.best();
}

}  // namespace mlafuzz
