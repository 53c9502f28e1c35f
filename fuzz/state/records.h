#ifndef MLAFUZZ_FUZZ_STATE_RECORDS_H_
#define MLAFUZZ_FUZZ_STATE_RECORDS_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
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

// Whether a unit with this key is there with all its parts, whole: damaged or
// missing ones mean that it has to be run again.
absl::StatusOr<bool> IsDone(const State& state, const UnitKey& key);

// Parts that a unit names and that the state has not, or not whole.
std::vector<std::string> MissingParts(const State& state, const Unit& unit);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_STATE_RECORDS_H_
