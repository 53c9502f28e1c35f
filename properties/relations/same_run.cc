#include "properties/relations/same_run.h"

#include "absl/strings/str_cat.h"

namespace mlafuzz {

bool RunTwice::Applies(const Contract&, const CaseImage&, const StepImage&) {
  return true;
}

absl::Status RunTwice::Run(StepContext& context, Finding* finding) {
  CaseImage image = OneStep(context);
  image.steps.push_back(context.step);
  Observation observation;
  if (absl::Status s = Rerun(context, image, &observation, finding);
      !s.ok() || !finding->ok()) {
    return s;
  }
  for (int i = 0; i < 2; ++i) {
    StepObservation& step = observation.steps[i];
    // What the second call leaves is compared with the state after the first.
    if (i == 1 && !step.pool.has_value()) {
      step.pool = observation.steps[0].pool;
    }
    *finding = SameAsPlain(context, image, step);
    if (!finding->ok()) {
      finding->detail = absl::StrCat("call ", i + 1, ": ", finding->detail);
      break;
    }
  }
  return absl::OkStatus();
}

bool OtherSchedule::Applies(const Contract&, const CaseImage&,
                            const StepImage&) {
  return true;
}

absl::Status OtherSchedule::Run(StepContext& context, Finding* finding) {
  // Carries the schedule; the tensors come from the image.
  Case source;
  std::uint64_t schedule = context.choices.Word() >> 32;
  if (schedule == context.image.source->schedule()) ++schedule;
  source.set_schedule(schedule);
  CaseImage image = OneStep(context);
  image.source = &source;
  Observation observation;
  if (absl::Status s = Rerun(context, image, &observation, finding);
      !s.ok() || !finding->ok()) {
    if (!finding->ok()) {
      finding->detail =
          absl::StrCat("schedule ", schedule, ": ", finding->detail);
    }
    return s;
  }
  *finding = SameAsPlain(context, image, observation.steps[0]);
  if (!finding->ok()) {
    finding->detail =
        absl::StrCat("schedule ", schedule, ": ", finding->detail);
  }
  return absl::OkStatus();
}

bool Repeat::Applies(const Contract&, const CaseImage&, const StepImage&) {
  return true;
}

absl::Status Repeat::Run(StepContext& context, Finding* finding) {
  constexpr int kRuns = 8;
  const std::vector<CaseImage> images(kRuns, OneStep(context));
  std::vector<Observation> observations;
  if (absl::Status s = Rerun(context, images, &observations, finding);
      !s.ok() || !finding->ok()) {
    return s;
  }
  for (int run = 0; run < kRuns && finding->ok(); ++run) {
    *finding = SameAsPlain(context, images[run], observations[run].steps[0]);
    if (!finding->ok()) {
      finding->detail =
          absl::StrCat("run ", run + 1, " of ", kRuns, ": ", finding->detail);
    }
  }
  return absl::OkStatus();
}

}  // namespace mlafuzz
