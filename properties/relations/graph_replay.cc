#include "properties/relations/graph_replay.h"

namespace mlafuzz {

bool GraphReplay::Applies(const Contract&, const CaseImage&, const StepImage&) {
  return true;
}

absl::Status GraphReplay::Run(StepContext& context, Finding* finding) {
  CaseImage image = OneStep(context);
  image.launch = Launch::kGraph;
  Observation observation;
  if (absl::Status s = Rerun(context, image, &observation, finding);
      !s.ok() || !finding->ok()) {
    return s;
  }
  *finding = SameAsPlain(context, image, observation.steps[0]);
  return absl::OkStatus();
}

}  // namespace mlafuzz
