#include "kernels/executor.h"

#include "absl/strings/str_cat.h"

namespace mlafuzz {

absl::Status RunCases(Executor& executor, const TargetSet& targets,
                      absl::Span<const Case> cases,
                      std::vector<Observation>* observations) {
  std::vector<CaseImage> images;
  images.reserve(cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    absl::StatusOr<CaseImage> image = BuildImage(cases[i]);
    if (!image.ok()) {
      return absl::Status(
          image.status().code(),
          absl::StrCat("case ", i, ": ", image.status().message()));
    }
    images.push_back(*std::move(image));
  }
  return executor.Run(targets, images, observations);
}

}  // namespace mlafuzz
