#ifndef MLAFUZZ_FUZZ_NIGHTLY_NIGHT_SARIF_H_
#define MLAFUZZ_FUZZ_NIGHTLY_NIGHT_SARIF_H_

#include <nlohmann/json.hpp>

namespace mlafuzz {

// A night's report.json (NightJson of fuzz/nightly/news.h) as SARIF 2.1.0, for
// what lists alerts: a result for each cause that fails. New ones and those
// that are back are errors with baselineState "new", known ones warnings,
// "unchanged"; those that are gone are left out, by which they are closed.
// Fingerprints are the causes' ids, the same each night.
nlohmann::ordered_json NightSarif(const nlohmann::ordered_json& night);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_NIGHTLY_NIGHT_SARIF_H_
