#ifndef MLAFUZZ_FUZZ_COMMAND_ATTACHED_MATRIX_H_
#define MLAFUZZ_FUZZ_COMMAND_ATTACHED_MATRIX_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fuzz/worker/worker.pb.h"
#include "properties/matrix/matrix.h"

namespace mlafuzz {

struct AttachedMatrix {
  Matrix matrix;  // as observed
  // Cells that disagree though the declared contracts agree.
  int surprises = 0;
};

// The matrix of targets: each writes, gathers and reads what it implements
// itself. First by their declared contracts; then each chain that these let
// run is run, libraries in processes of their own, on the cases by which it was
// judged. `targets` all name one target for all kernels.
//
// A cell disagrees if what came back of some case is not what the rows mean
// and, where the contracts agree, not what they say either: the bounds leave a
// right kernel room that its twin's may not.
absl::StatusOr<AttachedMatrix> BuildAttachedMatrix(
    const std::vector<Targets>& targets, const MatrixOptions& options);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_COMMAND_ATTACHED_MATRIX_H_
