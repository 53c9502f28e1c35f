#ifndef MLAFUZZ_PROPERTIES_RELATIONS_H_
#define MLAFUZZ_PROPERTIES_RELATIONS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "corpus/image.h"
#include "corpus/observation.h"
#include "kernels/executor.h"
#include "kernels/target_set.h"
#include "oracle/judge.h"

namespace mlafuzz {

// The relation that shared calls look for (properties/fused/fused_checker.h).
inline constexpr char kFusedRelation[] = "fused";

// A property that compares two runs and needs no oracle for the values: the
// kernel against itself under a change that must not matter, or must matter in
// a known way.
struct Relation {
  // "two-poison", "run-twice", "schedule", "page-relabelling", "batch-single",
  // "tile-permutation", "negation", "power-of-two-scaling", "zero-rope",
  // "round-trip", "nope-tail-through-gather"; of decodes alone "trailing-mask",
  // "sink-minus-infinity", "candidate-permutation", "duplicates",
  // "mask-placement", "all-masked", "wider-buffer", "declared-capacity",
  // "split-count", "decode-zero-rope", "head-shards", "query-length",
  // "convexity", "exact-lattice", "page-zero-poison"; on GPUs alone
  // "graph-replay", "repeat"; "fused". Each is described in the
  // header of the same name, or of its family, under properties/relations/.
  const char* name;
  Kernel kernel;
  bool on_devices;  // says nothing of kernels that run on the host
  // Not drawn for a case: runs only where all relations do. Campaigns look for
  // what it finds in another way (properties/fused/fused_checker.h).
  bool only_asked;
  // Whether it says something about this case (valid steps only).
  bool (*applies)(const TargetSet& targets, const Contracts& contracts,
                  const CaseImage& image);
  // Appends one Check a judged step. Draws what it needs from `seed`.
  absl::Status (*run)(const TargetSet& targets, Executor& executor,
                      const Contracts& contracts, const CaseImage& image,
                      const Observation& plain, std::uint64_t seed,
                      std::vector<Check>* checks);
};

const std::vector<Relation>& AllRelations();

// Whether `property` is the name of one.
bool IsRelation(absl::string_view property);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_RELATIONS_H_
