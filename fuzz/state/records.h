#ifndef MLAFUZZ_FUZZ_STATE_RECORDS_H_
#define MLAFUZZ_FUZZ_STATE_RECORDS_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "fuzz/state/records.pb.h"
#include "fuzz/state/state.h"
#include "google/protobuf/message_lite.h"

namespace mlafuzz {

// Deterministic bytes of a record.
std::string RecordBytes(const google::protobuf::MessageLite& record);

// DataLoss for bytes that are no such record.
absl::StatusOr<Unit> ReadUnit(const State& state, const std::string& id);
absl::StatusOr<Epoch> ReadEpoch(const State& state, const std::string& id);
absl::StatusOr<FoundCase> ReadFoundCase(const State& state,
                                        const std::string& id);

struct NamedEpoch {
  std::string id;
  Epoch epoch;
};
// The epoch of the next units; empty: there is none yet.
absl::StatusOr<std::optional<NamedEpoch>> NewestEpoch(const State& state);
// Makes the epoch after the newest one (the first, 1) from `cases`, ids of
// cases in the state; of equal cases nothing is made.
absl::StatusOr<NamedEpoch> StartEpoch(State& state,
                                      std::vector<std::string> cases);

// The units of a state by their keys' bytes, and what is wrong with the others.
struct Units {
  std::map<std::string, Unit> done;
  // Damaged, or parts of them are missing or damaged: to be run again, or a
  // file of another name holds the part. A sentence each.
  std::vector<std::string> broken;
};
// What is missing is looked for under other names in `others` too.
absl::StatusOr<Units> ReadUnits(const State& state,
                                absl::Span<const State> others = {});

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_STATE_RECORDS_H_
