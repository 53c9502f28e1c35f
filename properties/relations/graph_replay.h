#ifndef MLAFUZZ_PROPERTIES_RELATIONS_GRAPH_REPLAY_H_
#define MLAFUZZ_PROPERTIES_RELATIONS_GRAPH_REPLAY_H_

#include "properties/relations/step_relation.h"

namespace mlafuzz {

// A call that is captured in a CUDA graph over zeros (lengths, indices and
// slots among them) and then replayed twice leaves what the call itself did,
// bit for bit. What the host read of its tensors while it captured is stale by
// then, and so are buffers of its own that it has given back. Skipped for calls
// that refuse to be captured.
struct GraphReplay {
  static constexpr bool kOnDevices = true;
  static bool Applies(const Contract&, const CaseImage&, const StepImage&);
  static absl::Status Run(StepContext& context, Finding* finding);
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_RELATIONS_GRAPH_REPLAY_H_
