#ifndef MLAFUZZ_PROPERTIES_INFER_INFER_H_
#define MLAFUZZ_PROPERTIES_INFER_INFER_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "kernels/executor.h"
#include "kernels/target_set.h"
#include "properties/infer/infer.pb.h"

namespace mlafuzz {

struct InferOptions {
  std::uint64_t seed = 1;
  int probes_per_field = 24;
  int other_probes = 240;  // a kernel: cases of any kind
  // Only looks whether a declaration is contradicted: no pairs, no host checks,
  // no arithmetic of its own, and of fields only those that differ or are
  // unexplained.
  bool brief = false;
  std::function<void()> progress = [] {};  // called now and then
};

// Whether there are questions to such a kernel: not to one of another layout
// than fp8_ds_mla, nor to a gather that keeps codes or bytes.
absl::Status CanInfer(Kernel kernel, const Contract& declared);

// Reads a kernel from outside; an error for what CanInfer() refuses. Asks it
// what tells the values of each contract field apart
// (properties/generate_for.h), and looks for the contract that explains most
// answers. Nothing that `declared` leaves to the caller is sent, so a field
// whose declared value promises less is undecided.
//
// The kernel is called once a probe; all else is the oracle's work. After the
// field at which a call hung (in brief: or most ended their process) no more is
// asked. Not found: two faults that hide each other from every single change
// and from every pair; accepted sets (pe_dims, inputs, lengths, widths), which
// are not varied.
absl::StatusOr<InferredKernel> InferKernel(Kernel kernel,
                                           const Contract& declared,
                                           const TargetSet& targets,
                                           Executor& executor,
                                           const InferOptions& options);

// A look before a campaign: brief, with few probes.
InferOptions BriefInference();

// Those of `kernels` that the targets implement, as they declare themselves;
// `description` is set, flavour and tier are not. What CanInfer() refuses is an
// error, before any call; in brief it is left out.
absl::StatusOr<InferResult> Infer(const TargetSet& targets,
                                  absl::Span<const Kernel> kernels,
                                  Executor& executor,
                                  const InferOptions& options);

// Whether a declaration is wrong, or an answer is not explained.
bool Contradicted(const InferResult& result);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_INFER_INFER_H_
