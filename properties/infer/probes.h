#ifndef MLAFUZZ_PROPERTIES_INFER_PROBES_H_
#define MLAFUZZ_PROPERTIES_INFER_PROBES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "corpus/case.pb.h"
#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "corpus/observation.h"
#include "kernels/executor.h"
#include "kernels/target_set.h"
#include "properties/generate.h"

namespace mlafuzz {

// One question to a kernel, with its answer.
struct Probe {
  std::unique_ptr<Case> source;  // what `image` points into
  CaseImage image;
  Observation observation;
};

// Cases that call `kernel` alone.
GeneratorOptions OnlyKernel(Kernel kernel);

// Adds the case to `probes` if it builds and if no step of it is invalid or
// unspecified under `declared`: what a target leaves to its caller is not sent.
bool AddProbe(const Contract& declared, const Case& c,
              std::vector<Probe>* probes);

// `count` cases made for a field of AllFields(), or fewer where `declared`
// leaves what would tell to the caller. Deterministic in `seed`.
std::vector<Probe> ProbesFor(int field, int count, std::uint64_t seed,
                             const Contract& declared);

// `count` cases of any kind for a kernel.
std::vector<Probe> AnyProbes(Kernel kernel, int count, std::uint64_t seed,
                             const Contract& declared);

// `count` decodes for telling arithmetic apart: half of them wide enough for
// several blocks and splits.
std::vector<Probe> ArithmeticProbes(int count, std::uint64_t seed,
                                    const Contract& declared);

// Runs all that have no answer yet, as one batch.
absl::Status RunProbes(const TargetSet& targets, Executor& executor,
                       absl::Span<Probe> probes);

// What a contract says of a probe's answer.
enum class Fit {
  kExplained,     // no check fails
  kContradicted,  // some check does
  kNotJudged,     // it leaves the matter to the caller, or foretells nothing
};
Fit FitOf(const Contract& contract, const Probe& probe);

// What a contract says of many.
struct Tally {
  int explained = 0;
  int contradicted = 0;

  void Add(Fit fit) {
    explained += fit == Fit::kExplained ? 1 : 0;
    contradicted += fit == Fit::kContradicted ? 1 : 0;
  }
  // Fewer contradictions; then more that is explained and not merely left open.
  bool BetterThan(const Tally& other) const {
    return contradicted != other.contradicted
               ? contradicted < other.contradicted
               : explained > other.explained;
  }
};
Tally TallyOf(const Contract& contract, absl::Span<const Probe> probes);

// Why `contract`, which contradicts it, does: the damage as one sentence.
std::string Damage(const Contract& contract, const Probe& probe);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_INFER_PROBES_H_
