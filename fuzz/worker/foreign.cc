#include "fuzz/worker/foreign.h"

#include <algorithm>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "kernels/foreign/foreign_target.h"
#include "kernels/foreign/library_file.h"
#include "kernels/foreign/runner_process.h"
#include "kernels/target_set.h"

namespace mlafuzz {

bool AnyForeign(const Targets& targets) {
  for (const std::string* name :
       {&targets.all(), &targets.writer(), &targets.gather(),
        &targets.convert(), &targets.decode()}) {
    if (RunsApart(*name)) return true;
  }
  return false;
}

std::string TierText(const Targets& targets) {
  const std::string& device = targets.device_name();
  if (device.empty()) return "host";
  return absl::StrCat(
      absl::StrContains(device, "(sm_120)") ? "sm_120: " : "other GPU: ",
      device);
}

double CallSeconds(const Targets& targets) {
  if (targets.call_seconds() > 0) return targets.call_seconds();
  // As session.cc sets it.
  return targets.sanitizer().empty() ? RunnerLimits().call_seconds : 60;
}

double StartSeconds(const Targets& targets) {
  return targets.start_seconds() > 0 ? targets.start_seconds()
                                     : RunnerLimits().start_seconds;
}

void NoteLibraries(const TargetSet& set, Targets* targets) {
  targets->clear_libraries();
  for (const std::shared_ptr<Target>& target : set.targets) {
    const ForeignTarget* foreign =
        target == nullptr ? nullptr : target->foreign();
    if (foreign == nullptr || foreign->file().path.empty()) continue;
    const LibraryFile& file = foreign->file();
    if (std::any_of(targets->libraries().begin(), targets->libraries().end(),
                    [&](const Library& l) { return l.path() == file.path; })) {
      continue;
    }
    Library& library = *targets->add_libraries();
    library.set_path(file.path);
    library.set_size(file.size);
    library.set_device(file.device);
    library.set_inode(file.inode);
    library.set_modified(file.modified);
    library.set_hash(file.hash);
  }
}

std::string LibraryChange(const Targets& targets) {
  for (const Library& library : targets.libraries()) {
    LibraryFile file;
    file.path = library.path();
    file.size = library.size();
    file.device = library.device();
    file.inode = library.inode();
    file.modified = library.modified();
    file.hash = library.hash();
    const std::string change = ChangeOf(file);
    if (!change.empty()) return change;
  }
  return "";
}

}  // namespace mlafuzz
