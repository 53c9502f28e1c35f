#include "fuzz/campaign/case_files.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "corpus/codec.h"

namespace mlafuzz {
namespace {

std::string FolderOf(const CampaignOptions& options, const Finding& finding) {
  const std::string folder =
      absl::StrCat(options.out, "/findings/", finding.id);
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  return folder;
}

}  // namespace

std::string SaveCase(const CampaignOptions& options, Finding& finding,
                     const std::string& name, absl::string_view binary) {
  const std::string folder = FolderOf(options, finding);
  const absl::StatusOr<Case> c = ParseCaseBinary(binary);
  const std::string file = absl::StrCat(name, c.ok() ? ".txtpb" : ".bin");
  const absl::Status written =
      WriteFileAtomically(absl::StrCat(folder, "/", file),
                          c.ok() ? FormatCaseText(*c) : std::string(binary));
  if (!written.ok()) {
    finding.unwritten = std::string(written.message());
    return "";
  }
  return absl::StrCat("findings/", finding.id, "/", file);
}

void RemoveFinding(const CampaignOptions& options, const std::string& id) {
  Finding finding;
  finding.id = id;
  std::error_code ignored;
  std::filesystem::remove_all(FolderOf(options, finding), ignored);
}

void RenameFinding(const CampaignOptions& options, Finding& finding,
                   const std::string& id) {
  if (finding.id == id) return;
  const std::string from = absl::StrCat(options.out, "/findings/", finding.id);
  const std::string to = absl::StrCat(options.out, "/findings/", id);
  std::error_code error;
  std::filesystem::remove_all(to, error);
  std::filesystem::rename(from, to, error);
  if (error && error != std::errc::no_such_file_or_directory) {
    finding.unwritten =
        absl::StrCat(to, ": cannot rename ", from, " to it: ", error.message());
    return;
  }
  const std::string before = absl::StrCat("findings/", finding.id, "/");
  const auto move = [&](std::string& file) {
    if (!absl::StartsWith(file, before)) return;
    file = absl::StrCat("findings/", id, "/", file.substr(before.size()));
  };
  move(finding.case_file);
  move(finding.minimal_file);
  for (Finding::Shape& shape : finding.shapes) move(shape.case_file);
  finding.id = id;
}

void SaveExplanation(const CampaignOptions& options, Finding& finding) {
  const Failure& f = finding.failure;
  const std::string text = absl::StrCat(
      f.cause(), "\n\n", f.explanation().empty() ? f.detail() : f.explanation(),
      "\n");
  const absl::Status written = WriteFileAtomically(
      absl::StrCat(FolderOf(options, finding), "/explanation.txt"), text);
  if (!written.ok()) finding.unwritten = std::string(written.message());
}

std::string ReplayCommand(const CampaignOptions& options,
                          const Finding& finding) {
  const std::string& file =
      finding.minimal_file.empty() ? finding.case_file : finding.minimal_file;
  if (file.empty()) return "";
  std::string path = absl::StrCat(
      options.shown_out.empty() ? options.out : options.shown_out, "/", file);
  if (path[0] == '-') path = "./" + path;  // no flag
  std::string command =
      options.other.has_value()
          ? absl::StrCat(options.program, " diff ", ShellWord(path),
                         " --a=", ShellWord(options.targets.all()),
                         " --b=", ShellWord(options.other->all()),
                         options.no_oracle ? " --no-oracle" : "",
                         options.within_bounds ? " --within-bounds" : "",
                         RunnerFlags(options.targets))
          : absl::StrCat(options.program, " replay ", ShellWord(path), " ",
                         TargetsFlags(options.targets));
  if (options.limits.case_seconds != WatchdogLimits().case_seconds) {
    absl::StrAppend(&command, " --case-seconds=",
                    DurationText(options.limits.case_seconds));
  }
  if (finding.repeat > 1) {
    absl::StrAppend(&command, " --repeat=", finding.repeat);
  }
  if (options.engine.flavour != "asan+ubsan") {
    absl::StrAppend(&command, " --flavour=", options.engine.flavour);
  }
  return command;
}

WorkRequest RequestFor(const CampaignOptions& options, WorkRequest::Mode mode) {
  WorkRequest request;
  request.set_mode(mode);
  *request.mutable_targets() = options.targets;
  if (options.other.has_value()) {
    *request.mutable_other() = *options.other;
    request.set_diff(true);
    request.set_no_oracle(options.no_oracle);
    request.set_within_bounds(options.within_bounds);
  }
  request.mutable_kernels()->Assign(options.kernels.begin(),
                                    options.kernels.end());
  return request;
}

}  // namespace mlafuzz
