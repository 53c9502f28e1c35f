#ifndef MLAFUZZ_ORACLE_DIAGNOSIS_PARTS_H_
#define MLAFUZZ_ORACLE_DIAGNOSIS_PARTS_H_

#include <string>

#include "corpus/contracts.h"
#include "corpus/image.h"
#include "corpus/observation.h"
#include "oracle/verdict.h"

namespace mlafuzz::oracle {

// Whether the check is of a call that was made and observed: no patch, and a
// step that the case has.
bool IsOfACall(const Check& check, const CaseImage& image,
               const Observation& observation);

// "writer.tail=TAIL_UNCHANGED": the rule that a neighbouring contract changes,
// with its other value.
std::string KeyOf(const Neighbour& neighbour);

// What no contract field stands for: how a call ended, or a damage's own name.
Diagnosis Pattern(std::string key, std::string cause);

// "writer.tail: the contract says TAIL_ZERO, the kernel behaves as
// TAIL_UNCHANGED: `seen`".
Diagnosis BehavesAs(const Neighbour& neighbour, const std::string& seen);

// "the decode behaves as under decode.sink = SINK_IGNORED, not SINK_ADDED";
// `what`: "behaves as under".
Diagnosis DecodesAsUnder(const Neighbour& neighbour, const std::string& what);

// Each key stands once: as the name, in `also`, or in `possible`. AddAlso does
// not look into `possible`.
void AddAlso(Diagnosis& diagnosis, const std::string& key);
void AddPossible(Diagnosis& diagnosis, const std::string& key);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DIAGNOSIS_PARTS_H_
