#ifndef MLAFUZZ_ORACLE_EVIDENCE_H_
#define MLAFUZZ_ORACLE_EVIDENCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "corpus/observation.h"
#include "oracle/pool_history.h"

namespace mlafuzz::oracle {

// How much of what came back one explanation predicts.
struct Evidence {
  std::string key;  // "qk.scale_rule=SCALE_POW2_FLOOR", "tile-skipped"
  // Of the elements that the declared contract forbids, those that are right
  // under this one: bytes, of a decode output values and LSE within its bounds.
  std::int64_t explained = 0;
  // Of the elements that the declared contract allows, those that are wrong
  // under this one.
  std::int64_t contradicted = 0;
};

struct EvidenceTable {
  std::int64_t wrong = 0;  // elements that the declared contract forbids
  std::int64_t right = 0;  // other elements
  // Of what explains any: the most explained, then the least contradicted
  // first.
  std::vector<Evidence> rows;
};

// All contracts with one other rule and, of a decode, with two other scale
// rules and the faults of decode/faults.h. For a step that ended well, valid or
// at a documented edge. Slow: an expectation each.
EvidenceTable WeighEvidence(const Contract& contract, const CaseImage& image,
                            int step, const PoolHistory& history,
                            const StepObservation& observed);

// "v.scale_rule=SCALE_ONE explains 512 of 512 wrong elements and fits all 576
// others; next best qk.scale_rule=SCALE_ONE, 3 %". Empty if nothing is wrong.
std::string EvidenceText(const EvidenceTable& table);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_EVIDENCE_H_
