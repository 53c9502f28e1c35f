#include "fuzz/campaign/reproduce.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "fuzz/campaign/case_files.h"
#include "fuzz/campaign/reproducer/source.h"
#include "fuzz/campaign/reproducer/verify.h"
#include "fuzz/campaign/signals.h"
#include "fuzz/worker/foreign.h"
#include "kernels/target_set.h"

namespace mlafuzz {
namespace {

// Whose kernel it is.
std::string TargetOf(const Targets& targets, const std::string& kernel) {
  std::string own = kernel == "writer"    ? targets.writer()
                    : kernel == "gather"  ? targets.gather()
                    : kernel == "convert" ? targets.convert()
                                          : targets.decode();
  return own.empty() ? targets.all() : own;
}

ReproducerText TextOf(const CampaignOptions& options, const Finding& finding,
                      const std::string& target) {
  ReproducerText text;
  text.id = finding.id;
  text.cause = finding.failure.cause();
  const auto c =
      ParseCaseBinary(finding.minimal_binary.empty() ? finding.case_binary
                                                     : finding.minimal_binary);
  if (c.ok()) text.case_text = FormatCaseText(*c);
  const std::string bare(WithoutDevice(target));
  std::string own = bare;
  if (IsPython(target)) {
    own = bare.substr(kPythonTarget.size());
    text.module = own;
    text.folder = options.targets.python_folder();
    text.on_device = IsOnDevice(target);
  } else if (IsForeign(target)) {
    own = bare.substr(4);
    text.library = own;
  } else {
    text.kernel = bare;
  }
  text.environment = absl::StrCat(
      "Seen with ", own, ", tier ", TierText(options.targets), ", by\n    ",
      options.command, "\nTo run it under all checks again:\n    ",
      ReplayCommand(options, finding));
  // Loading a library that needs long is no hang of its call.
  text.seconds = static_cast<unsigned>(
      std::ceil(CallSeconds(options.targets) + StartSeconds(options.targets)));
  if (finding.failure.verdict() == "hang") {
    text.seconds = static_cast<unsigned>(
        std::ceil(std::fmin(2 * CallSeconds(options.targets), 3600)));
  }
  return text;
}

void MakeOne(const CampaignOptions& options, ReproducerKind kind,
             const ReproducerText& text, Finding& finding) {
  Finding::Reproducer made;
  made.kind = ReproducerKindName(kind);
  const auto source = ReproducerSource(kind, *finding.evidence, text);
  if (!source.ok()) {
    made.words =
        absl::StrCat("not made: ", std::string(source.status().message()));
    finding.reproducers.push_back(made);
    return;
  }
  const Verification v = VerifyReproducer(kind, *source, options.limits.until,
                                          options.targets.python());
  made.verified = v.verified;
  made.failed = v.failed;
  made.runs = v.runs;
  made.compiler = v.compiler;
  made.words = v.words;
  // It ran and was right: not the bug's witness.
  if (v.runs > 0 && v.failed == 0) {
    absl::StrAppend(&made.words, "; not written");
  } else {
    const std::string path =
        absl::StrCat("findings/", finding.id, "/", ReproducerFile(kind));
    const absl::Status written =
        WriteFileAtomically(absl::StrCat(options.out, "/", path), *source);
    if (written.ok()) {
      made.path = path;
      made.source = *source;
    } else {
      absl::StrAppend(&made.words, made.words.empty() ? "" : "; ",
                      "not written: ", written.message());
      finding.unwritten = std::string(written.message());
    }
  }
  finding.reproducers.push_back(made);
}

}  // namespace

void MakeReproducers(const CampaignOptions& options,
                     std::vector<Finding>& findings, Progress& progress) {
  for (Finding& finding : findings) {
    if (finding.evidence == nullptr) continue;
    if (StopSignals() > 0) break;
    const std::string target =
        TargetOf(options.targets, finding.evidence->kernel());
    progress.FollowUp(finding, "reproducing");
    const ReproducerText text = TextOf(options, finding, target);
    if (IsPython(target)) {
      MakeOne(options, ReproducerKind::kPython, text, finding);
    } else if (IsOnDevice(target) || !IsForeign(target)) {
      MakeOne(options, ReproducerKind::kCuda, text, finding);
    } else {
      MakeOne(options, ReproducerKind::kCxx, text, finding);
      MakeOne(options, ReproducerKind::kTest, text, finding);
    }
  }
  progress.FollowUpDone();
}

}  // namespace mlafuzz
