#ifndef MLAFUZZ_FUZZ_CAMPAIGN_REPRODUCER_PYTHON_SOURCE_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_REPRODUCER_PYTHON_SOURCE_H_

#include <string>

#include "absl/status/statusor.h"
#include "fuzz/campaign/reproducer/source.h"
#include "fuzz/worker/evidence.pb.h"

namespace mlafuzz {

// ReproducerSource() of kPython, for evidence that has buffers.
absl::StatusOr<std::string> PythonSource(const Evidence& evidence,
                                         const ReproducerText& text);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_REPRODUCER_PYTHON_SOURCE_H_
