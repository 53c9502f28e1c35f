#include "properties/combined_executor.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mlafuzz {

void CombinedExecutor::Join() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++at_work_;
}

void CombinedExecutor::Leave() {
  const std::lock_guard<std::mutex> lock(mutex_);
  --at_work_;
  // It was the last that the others waited for.
  if (!requests_.empty() && requests_.size() == at_work_) RunAll();
}

absl::Status CombinedExecutor::Run(const TargetSet& targets,
                                   absl::Span<const CaseImage> images,
                                   std::vector<Observation>* observations) {
  std::vector<const CaseImage*> each;
  each.reserve(images.size());
  for (const CaseImage& image : images) each.push_back(&image);
  return RunEach(targets, each, observations);
}

absl::Status CombinedExecutor::RunEach(
    const TargetSet& targets, absl::Span<const CaseImage* const> images,
    std::vector<Observation>* observations) {
  Request request = {&targets, images, observations, absl::OkStatus()};
  std::unique_lock<std::mutex> lock(mutex_);
  requests_.push_back(&request);
  if (requests_.size() == at_work_) {
    RunAll();
  } else {
    done_.wait(lock, [&request] { return request.done; });
  }
  return request.status;
}

void CombinedExecutor::RunAll() {
  // Those of one set of targets at a time: as a rule, all.
  while (!requests_.empty()) {
    const TargetSet* const targets = requests_[0]->targets;
    std::vector<Request*> now;
    std::vector<Request*> later;
    std::vector<const CaseImage*> images;
    for (Request* const request : requests_) {
      if (request->targets != targets) {
        later.push_back(request);
        continue;
      }
      now.push_back(request);
      images.insert(images.end(), request->images.begin(),
                    request->images.end());
    }
    requests_ = std::move(later);
    std::vector<Observation> seen;
    absl::Status status = executor_.RunEach(*targets, images, &seen);
    if (status.ok() && seen.size() != images.size()) {
      status = absl::InternalError(absl::StrCat("the executor observed ",
                                                seen.size(), " of ",
                                                images.size(), " cases"));
    }
    auto from = seen.begin();
    for (Request* const request : now) {
      request->status = status;
      if (status.ok()) {
        const auto end =
            from + static_cast<std::ptrdiff_t>(request->images.size());
        request->observations->assign(std::make_move_iterator(from),
                                      std::make_move_iterator(end));
        from = end;
      }
      request->done = true;
    }
  }
  done_.notify_all();
}

}  // namespace mlafuzz
