#include "fuzz/worker/foreign.h"

#include <algorithm>
#include <memory>
#include <string>

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
    if (IsForeign(*name)) return true;
  }
  return false;
}

double CallSeconds(const Targets& targets) {
  return targets.call_seconds() > 0 ? targets.call_seconds()
                                    : RunnerLimits().call_seconds;
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
    if (foreign == nullptr) continue;
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
    if (!change.empty()) return absl::StrCat("lib:", change);
  }
  return "";
}

}  // namespace mlafuzz
