#ifndef MLAFUZZ_FUZZ_COMMAND_LAYOUTS_H_
#define MLAFUZZ_FUZZ_COMMAND_LAYOUTS_H_

#include <string>
#include <vector>

#include "corpus/types.pb.h"
#include "fuzz/command/arguments.h"
#include "fuzz/worker/worker.pb.h"

namespace mlafuzz {

// Stored cases of a pool's layout, on targets of the command line.

// Where nobody names a target, cases that are not fp8_ds_mla run on this
// project's kernels for them, on the same backend: sets `targets` and
// `kernels`, those under test, to them. Else leaves both.
void UseBuiltinFor(const Arguments& arguments, Layout layout, Targets* targets,
                   std::vector<std::string>* kernels);

// Why nothing of `kernels` is judged on a pool of layout `pool`, in words: they
// take pools of another. Empty if they take it, or touch no pool. Steps that do
// not touch the pool, or that others than they run, may well be judged.
std::string OtherLayout(const Targets& targets,
                        const std::vector<std::string>& kernels, Layout pool);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_COMMAND_LAYOUTS_H_
