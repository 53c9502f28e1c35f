#ifndef MLAFUZZ_FUZZ_CAMPAIGN_LEDGER_FILE_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_LEDGER_FILE_H_

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mlafuzz {

// What a campaign's report shows of `mlafuzz ledger --json`: "file", "flavour",
// "seeds", "wrong" (a list of {"id", "kernel", "seeds", "detected",
// "triggered", "weak", "cause"}, of the first engine) and "right" ({"id",
// "cases", "false_alarms"}); "interrupted": true of one that was. Invalid-
// Argument, with `name` and the place, for a text that is no such result, for
// one that ran nothing, and for counts that no run gives.
absl::StatusOr<nlohmann::ordered_json> ReadLedgerResult(absl::string_view text,
                                                        absl::string_view name);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_LEDGER_FILE_H_
