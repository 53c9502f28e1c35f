#ifndef MLAFUZZ_ORACLE_STEP_VALIDITY_H_
#define MLAFUZZ_ORACLE_STEP_VALIDITY_H_

#include <string>

namespace mlafuzz {

enum class Validity {
  kValid,        // must be right
  kBoundary,     // documented edge behaviour (no tokens, no rows, all skipped)
  kInvalid,      // the host must refuse before it launches
  kUnspecified,  // the caller's duty; never sent unless asked for
};
const char* ValidityName(Validity validity);

struct StepValidity {
  Validity validity = Validity::kValid;
  // "writer.pe_dim", "writer.slot_past_pool", "gather.table_columns", ...
  std::string rule;
  // The rule with the case's numbers: "pe_dim 32 is not one of {64, 0}".
  std::string reason;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_ORACLE_STEP_VALIDITY_H_
