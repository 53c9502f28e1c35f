#ifndef MLAFUZZ_FUZZ_LEDGER_JSON_H_
#define MLAFUZZ_FUZZ_LEDGER_JSON_H_

#include <nlohmann/json.hpp>

#include "fuzz/ledger/result.h"

namespace mlafuzz {

// schema_version 1; docs/power.md lists the members. A median or an end of an
// interval that does not exist, because too few seeds found the fault, is null.
nlohmann::ordered_json LedgerJson(const LedgerResult& result);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_LEDGER_JSON_H_
