#include "fuzz/campaign/observe.h"

#include <memory>
#include <string>
#include <utility>

#include "fuzz/campaign/case_files.h"
#include "fuzz/campaign/one_shot.h"
#include "fuzz/campaign/signals.h"

namespace mlafuzz {
namespace {

// Why it is not looked at; empty: it is.
std::string WhyNot(const CampaignOptions& options, const Finding& finding,
                   std::size_t number) {
  if (options.other.has_value()) {
    return "two targets differ; replay shows where";
  }
  if (finding.failure.property() == "worker") return "it is of no case";
  if (number >= kMostObserved) return "too many findings";
  if (StopSignals() > 0) return "stopped by a signal";
  return SecondsLeft(options) <= 0 ? "the time was up" : "";
}

}  // namespace

void ObserveFindings(const CampaignOptions& options,
                     std::vector<Finding>& findings, Progress& progress) {
  for (std::size_t i = 0; i < findings.size(); ++i) {
    Finding& finding = findings[i];
    finding.evidence_note = WhyNot(options, finding, i);
    if (!finding.evidence_note.empty()) continue;
    progress.FollowUp(finding, "observing");
    WorkRequest request = RequestFor(options, WorkRequest::OBSERVE);
    request.add_cases(finding.minimal_binary.empty() ? finding.case_binary
                                                     : finding.minimal_binary);
    request.set_cause(finding.key_of_case());
    auto evidence =
        ObserveInWorker(options.engine, std::move(request), options.limits);
    if (!evidence.ok()) {
      finding.evidence_note = std::string(evidence.status().message());
    } else if (!evidence->error().empty()) {
      finding.evidence_note = evidence->error();
    } else {
      finding.evidence = std::make_shared<const Evidence>(*std::move(evidence));
    }
  }
  progress.FollowUpDone();
}

}  // namespace mlafuzz
