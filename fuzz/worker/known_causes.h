#ifndef MLAFUZZ_FUZZ_WORKER_KNOWN_CAUSES_H_
#define MLAFUZZ_FUZZ_WORKER_KNOWN_CAUSES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "fuzz/worker/worker.pb.h"

namespace mlafuzz {

// Keys of everything that explains one failure, the best first.
struct CauseKeys : std::vector<std::string> {
  using std::vector<std::string>::vector;
  // What neither explains it nor is ruled out by it. Such a key alone never
  // becomes a cause's name.
  std::vector<std::string> possible;
};
CauseKeys KeysOf(const Failure& failure);
// Whether `cause` is one of them.
bool Explains(const Failure& failure, absl::string_view cause);

// Causes, each as what may still be it. One case rarely tells neighbouring
// rules apart (scales of powers of two, a row of one key); the next one does.
// So a failure whose explanations meet those of a known cause is taken for that
// cause, and leaves it with those that explain both. What was only possible
// becomes an explanation when a failure is explained by it. A failure that has
// no more in common with a known cause than what is possible is taken for it
// too, and leaves it as it is.
class KnownCauses {
 public:
  enum class Match {
    kNew,       // shares no explanation with any
    kNarrower,  // rules out some explanations of a known one
    kKnown,
  };
  struct Result {
    Match match;
    std::size_t number;  // of the cause, where it is not new
  };

  Result Find(const CauseKeys& keys) const;
  // Finds it and learns from it: a new cause is added at the end, a narrower
  // one takes the place of what it narrows, in the order of `keys`.
  Result Learn(const CauseKeys& keys);

  const std::vector<CauseKeys>& all() const { return causes_; }

 private:
  std::vector<CauseKeys> causes_;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_KNOWN_CAUSES_H_
