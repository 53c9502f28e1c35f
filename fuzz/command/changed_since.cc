#include "fuzz/command/changed_since.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "corpus/codec.h"
#include "corpus/image.h"
#include "fuzz/campaign/one_shot.h"
#include "fuzz/campaign/report/markup.h"
#include "fuzz/changes/git_tree.h"
#include "fuzz/changes/path_map.h"
#include "fuzz/command/case_arguments.h"
#include "fuzz/command/corpus_files.h"
#include "fuzz/command/environment.h"
#include "fuzz/command/target_flags.h"
#include "fuzz/nightly/news.h"
#include "fuzz/nightly/nights.h"
#include "fuzz/state/state.h"

namespace mlafuzz {
namespace {

constexpr char kPathsFile[] = ".mlafuzz-paths";
constexpr char kRegressions[] = "regressions";

// Whether one fault may be behind both: an explanation that they share.
bool Meet(const CauseKeys& a, const CauseKeys& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& key) {
    return std::find(b.begin(), b.end(), key) != b.end();
  });
}

CauseKeys KeysOfFound(const FoundCase& found) {
  CauseKeys keys;
  keys.push_back(found.key());
  return keys;
}

absl::StatusOr<std::vector<CaseRun>> Run(const CampaignOptions& options,
                                         const Targets& targets,
                                         std::vector<std::string> cases) {
  WorkRequest request;
  request.set_mode(WorkRequest::RUN);
  *request.mutable_targets() = targets;
  for (std::string& c : cases) request.add_cases(std::move(c));
  auto runs = RunInWorkers(options.engine, std::move(request), options.kernels,
                           options.limits);
  if (!runs.ok()) return runs;
  for (const CaseRun& run : *runs) {
    // A case that was not run is no case that passes.
    if (!run.error().empty()) return absl::UnavailableError(run.error());
  }
  return runs;
}

// An engine passes over what is no case in silence, and a regression that is
// not run does not pass: InvalidArgument for one that cannot be read, a note
// for one that an engine would cut.
absl::Status CheckRegressions(const std::string& folder,
                              std::vector<std::string>* notes) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::is_empty(folder, error)) return absl::OkStatus();
  const CaseArguments stored = ReadCaseArguments({folder});
  if (!stored.errors.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("regressions: ", stored.errors[0]));
  }
  for (const NamedCase& c : stored.cases) {
    if (c.bytes <= kMaxInputBytes) continue;
    notes->push_back(absl::StrCat("note: ", c.path, " is not run: its ",
                                  c.bytes, " bytes are more than the engine's ",
                                  kMaxInputBytes,
                                  "; minimize it, or store it as binary"));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<Flag> ChangedSinceFlags() {
  return {
      {"changed-since", "REV",
       "of a change in Git: only what was not known at REV counts"},
      {"paths", "FILE",
       "which kernels a changed file is of (default .mlafuzz-paths)"},
      {"regressions", "DIR",
       "cases that fail there at REV are known (default regressions)"},
      {"state", "DIR", "causes of its nights that are not gone are known"},
      {"base", "TARGET",
       "the target as it was at REV: what fails there too is "
       "known, nothing else"},
  };
}

absl::StatusOr<ChangedSince> ChangedSince::Prepare(const Arguments& arguments,
                                                   CampaignOptions* options) {
  ChangedSince change;
  change.revision_ = arguments.Get("changed-since");
  if (arguments.Has("stop-on-first")) {
    return absl::InvalidArgumentError(
        "--stop-on-first would stop at a known cause; leave it out with "
        "--changed-since");
  }
  if (arguments.Has("base")) {
    auto base = ReadTarget(arguments.Get("base"), arguments);
    if (!base.ok()) return base.status();
    change.base_.push_back(*std::move(base));
  }
  if (absl::Status s = change.ReadChange(arguments, options); !s.ok()) return s;
  if (change.nothing_to_do_) return change;
  if (absl::Status s = change.ReadState(arguments, *options); !s.ok()) return s;
  if (absl::Status s = change.ReadRegressions(arguments, options); !s.ok()) {
    return s;
  }
  return change;
}

absl::Status ChangedSince::ReadChange(const Arguments& arguments,
                                      CampaignOptions* options) {
  const auto tree = GitTree::Open(CallersPath("."), revision_);
  if (!tree.ok()) return tree.status();
  const auto files = tree->Changed();
  if (!files.ok()) return files.status();
  lines_.push_back(absl::StrCat(
      "changed since ", revision_, " (", tree->commit().substr(0, 12),
      "): ", files->size(), files->size() == 1 ? " file" : " files"));
  if (tree->fork().empty()) {
    lines_.push_back(
        "note: HEAD has no commit in common with it in this clone, so what "
        "changed on its side since counts too");
  }
  const std::string path = arguments.Has("paths")
                               ? CallersPath(arguments.Get("paths"))
                               : absl::StrCat(tree->top(), "/", kPathsFile);
  const auto text = ReadFile(path);
  if (!text.ok() &&
      (arguments.Has("paths") || !absl::IsNotFound(text.status()))) {
    return text.status();
  }
  const auto map = PathMap::Parse(text.ok() ? *text : "");
  if (!map.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(ShownPath(path), ": ", map.status().message()));
  }
  const Concerned concerned = KernelsConcerned(*map, *files, options->kernels);
  for (const std::string& line : concerned.lines) {
    lines_.push_back(absl::StrCat("  ", line));
  }
  if (!text.ok() && !files->empty()) {
    lines_.push_back(absl::StrCat(
        "note: there is no ", kPathsFile,
        " that says which files are of which kernels, so all are run"));
  }
  if (arguments.Has("kernels")) {
    lines_.push_back("note: kernels are those of --kernels, whatever changed");
    return absl::OkStatus();
  }
  if (concerned.kernels.empty()) {
    nothing_to_do_ = true;
    lines_.push_back(absl::StrCat("skipped: no change concerns ",
                                  absl::StrJoin(options->kernels, ","),
                                  "; nothing was run"));
    return absl::OkStatus();
  }
  options->kernels = concerned.kernels;
  return absl::OkStatus();
}

absl::Status ChangedSince::ReadState(const Arguments& arguments,
                                     const CampaignOptions& options) {
  if (!arguments.Has("state")) return absl::OkStatus();
  const std::string path = CallersPath(arguments.Get("state"));
  const auto state = State::Open(path);
  if (!state.ok()) return state.status();
  const std::uint64_t night = LastNight(path);
  const auto known = KnownCausesOf(path, night);
  if (!known.ok()) return known.status();
  const auto causes = CausesOf(*state, *known, night);
  if (!causes.ok()) return causes.status();
  std::size_t others = 0;
  std::size_t gone = 0;
  for (const auto& [name, cause] : *causes) {
    if (name.first != TargetsFlags(options.targets)) {
      ++others;
      continue;
    }
    const auto before = known->find(name);
    if (before != known->end() && before->second.gone) {
      ++gone;
      continue;
    }
    known_.push_back(
        {KeysOfFound(cause.sample),
         night == 0 ? ShownPath(path)
                    : absl::StrCat("night ", night, " of ", ShownPath(path))});
    lines_.push_back(absl::StrCat("known: ", cause.sample.key(), " (",
                                  known_.back().where, ")"));
  }
  if (others > 0) {
    lines_.push_back(absl::StrCat(
        "note: ", others, " causes in ", ShownPath(path),
        " are of other targets than ", TargetsFlags(options.targets),
        " and count for none here"));
  }
  if (gone > 0) {
    lines_.push_back(absl::StrCat("note: ", gone, " causes in ",
                                  ShownPath(path),
                                  " were gone: they count as new where they "
                                  "are back"));
  }
  return absl::OkStatus();
}

absl::Status ChangedSince::ReadRegressions(const Arguments& arguments,
                                           CampaignOptions* options) {
  const auto tree = GitTree::Open(CallersPath("."), revision_);
  if (!tree.ok()) return tree.status();
  const std::string typed = arguments.Has("regressions")
                                ? arguments.Get("regressions")
                                : std::string(kRegressions);
  std::error_code ignored;
  const std::string path =
      std::filesystem::weakly_canonical(CallersPath(typed), ignored).string();
  const bool here = std::filesystem::is_directory(path, ignored);
  const std::string below =
      std::filesystem::path(path).lexically_relative(tree->top()).string();
  if (below.empty() || below.substr(0, 2) == "..") {
    return absl::InvalidArgumentError(
        absl::StrCat("--regressions: ", typed, " is not below ", tree->top()));
  }
  const auto files = tree->FilesAt(below);
  if (!files.ok()) return files.status();
  if (arguments.Has("regressions") && !here && files->empty()) {
    return absl::NotFoundError(absl::StrCat(
        "--regressions: ", typed, " is neither here nor at ", revision_));
  }
  // Those of the work tree run first of all: what fails there and was not known
  // is new.
  if (here) {
    if (absl::Status s = CheckRegressions(path, &lines_); !s.ok()) {
      return s;
    }
    options->corpora.push_back(path);
  }
  std::vector<std::string> cases, names;
  std::size_t other_layouts = 0;
  for (const auto& [name, bytes] : *files) {
    const auto c = ParseCase(bytes);
    if (!c.ok() || !BuildImage(*c).ok()) {
      lines_.push_back(absl::StrCat("note: ", ShownLine(name), " at ",
                                    revision_, " is no case of this version"));
      continue;
    }
    const Layout layout = c->pool().layout() == LAYOUT_UNSPECIFIED
                              ? FP8_DS_MLA
                              : c->pool().layout();
    if (layout != options->layout) {
      ++other_layouts;
      continue;
    }
    cases.push_back(CanonicalBinary(*c));
    names.push_back(ShownLine(name));
  }
  if (other_layouts > 0) {
    lines_.push_back(absl::StrCat("note: ", other_layouts,
                                  " regressions are of "
                                  "other layouts and were not run"));
  }
  if (cases.empty()) return absl::OkStatus();
  const auto runs = Run(*options, options->targets, cases);
  if (!runs.ok()) return runs.status();
  for (std::size_t i = 0; i < runs->size(); ++i) {
    for (const Failure& failure : (*runs)[i].failures()) {
      if (std::any_of(known_.begin(), known_.end(), [&](const EarlierCause& k) {
            return k.keys[0] == failure.key();
          })) {
        continue;
      }
      known_.push_back(
          {KeysOf(failure), absl::StrCat(names[i], " at ", revision_)});
      lines_.push_back(absl::StrCat("known: ", failure.key(), " (",
                                    known_.back().where, ")"));
    }
  }
  if (base_.empty() &&
      std::any_of((*runs).begin(), (*runs).end(),
                  [](const CaseRun& run) { return !run.failures().empty(); })) {
    lines_.push_back(absl::StrCat(
        "note: whether regressions failed at ", revision_,
        " already is not known without --base: those that fail now are taken "
        "for known"));
  }
  return absl::OkStatus();
}

std::string ChangedSince::summary() const {
  return absl::StrCat("only what is new since ", revision_, " counts; ",
                      base_.empty()
                          ? absl::StrCat(known_.size(), " causes were known")
                          : absl::StrCat("known is what fails on ",
                                         TargetsText(base_[0]), " alike"));
}

absl::Status ChangedSince::Mark(const CampaignOptions& options,
                                CampaignResult* result) const {
  std::vector<Finding>& findings = result->findings.all();
  if (base_.empty()) {
    for (Finding& finding : findings) {
      const CauseKeys keys = KeysOf(finding.failure);
      const auto known = std::find_if(
          known_.begin(), known_.end(),
          [&](const EarlierCause& k) { return Meet(k.keys, keys); });
      if (known != known_.end()) finding.known = known->where;
    }
    return absl::OkStatus();
  }
  std::vector<std::string> cases;
  for (const Finding& finding : findings) cases.push_back(finding.case_binary);
  if (cases.empty()) return absl::OkStatus();
  const auto runs = Run(options, base_[0], cases);
  if (!runs.ok()) return runs.status();
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const CauseKeys keys = KeysOf(findings[i].failure);
    for (const Failure& failure : (*runs)[i].failures()) {
      if (Meet(KeysOf(failure), keys)) {
        findings[i].known =
            absl::StrCat("fails on ", TargetsText(base_[0]), " alike");
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace mlafuzz
