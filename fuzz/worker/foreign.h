#ifndef MLAFUZZ_FUZZ_WORKER_FOREIGN_H_
#define MLAFUZZ_FUZZ_WORKER_FOREIGN_H_

#include <string>

#include "fuzz/worker/worker.pb.h"
#include "kernels/target_set.h"

namespace mlafuzz {

// Whether any of the targets runs in a process of its own.
bool AnyForeign(const Targets& targets);

// What the kernels run on, as every claim has to say: "host", "sm_120: NVIDIA
// ..." or, for any other card, "other GPU: NVIDIA ...".
std::string TierText(const Targets& targets);

// Seconds that one call, and that loading a library may take: as asked for, or
// the defaults.
double CallSeconds(const Targets& targets);
double StartSeconds(const Targets& targets);

// Notes the files of a set's libraries in `targets`, for LibraryChange.
void NoteLibraries(const TargetSet& set, Targets* targets);

// "lib:/x.so: the file is another ..." of the first library that is not what
// was noted; empty if all are.
std::string LibraryChange(const Targets& targets);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_FOREIGN_H_
