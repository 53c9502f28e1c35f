#ifndef MLAFUZZ_FUZZ_CAMPAIGN_REPORT_EVIDENCE_PICTURES_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_REPORT_EVIDENCE_PICTURES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "fuzz/worker/evidence.pb.h"

namespace mlafuzz {

// A run of wrong bytes within one row of a buffer.
struct WrongRun {
  std::string row;   // "slot 3", "dst row 0", "lse row 0"; empty: of no row
  std::string part;  // "codes of tile 1", "scales", "tail", ...
  std::int64_t begin = 0;  // bytes of the row; of no row: from element 0
  std::int64_t end = 0;
  std::int64_t at = 0;  // of `begin` in the buffer's bytes
};

// Wrong bytes, as whole elements, cut where a row or one of its parts ends, in
// order.
std::vector<WrongRun> WrongRuns(const Evidence& evidence,
                                const Evidence::Buffer& buffer);

// The first wrong rows of every buffer as byte maps, the wrong bytes with what
// they had to be and what they are, of decodes errors over bounds, and bytes
// that changed around buffers.
std::string EvidenceHtml(const Evidence& evidence);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_REPORT_EVIDENCE_PICTURES_H_
