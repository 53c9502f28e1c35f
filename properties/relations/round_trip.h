#ifndef MLAFUZZ_PROPERTIES_RELATIONS_ROUND_TRIP_H_
#define MLAFUZZ_PROPERTIES_RELATIONS_ROUND_TRIP_H_

#include "properties/relations/step_relation.h"

namespace mlafuzz {

// Rows written, then gathered: every latent value comes back within the error
// that the contracts' roundings allow, every rope value bit for bit, and the
// rope columns of rows without rope are zero. Of every layout whose gather
// dequantises. See round_trip.cc for the bound.
// The founding bug was a pair, so the two kernels are judged as one here.
struct RoundTrip {
  static bool Applies(const Contract&, const CaseImage&, const StepImage&);
  static absl::Status Run(StepContext& context, Finding* finding);
};

// A NoPE row over stale tail bytes: columns 512..575 come out as +0, whether
// the caller says that the rows carry no rope or not.
struct NopeTailThroughGather {
  static bool Applies(const Contract&, const CaseImage&, const StepImage&);
  static absl::Status Run(StepContext& context, Finding* finding);
};

// Whether `gather` reads a scale as `writer` stored it.
bool ReadsScalesOf(const GatherContract& gather, const WriterContract& writer);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_RELATIONS_ROUND_TRIP_H_
