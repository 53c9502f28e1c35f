#ifndef MLAFUZZ_PROPERTIES_LEDGER_LEDGER_H_
#define MLAFUZZ_PROPERTIES_LEDGER_LEDGER_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "corpus/contract.pb.h"
#include "corpus/image.h"

namespace mlafuzz {

// What is known about one wrong kernel and its judges. Kernel bodies know
// nothing of this; it is how the harness measures itself (reached, triggered,
// detected, after Magma's canaries), on the host and without running anything.
struct LedgerEntry {
  std::string target;           // "mutant:nope-stale-tail"
  std::vector<Kernel> kernels;  // wrong ones
  // Properties of which at least one must see it: oracle/verdict.h's and
  // relations. What else fails beside them is no surprise.
  std::vector<std::string> properties;
  // The contract field that explains it and the value that the kernel behaves
  // as, several joined by '+'; empty for a fault that is no rule, whose damage
  // then has a name (`key`).
  std::string field;
  std::string value;
  // Start of the key that a diagnosis must give ("writer.tail=", "codes-only");
  // empty if the damage has no stable shape.
  std::string key;
  // Where such a kernel was met: "OWNER/REPOSITORY#NUMBER, #NUMBER";
  // "operator: NAME" if it was made by changing an operation; "impostor".
  std::string source;
  // One of the first, which every selftest runs; the rest are run by `mlafuzz
  // ledger` alone.
  bool core = false;
  // A key that is true of it as well, but of which few cases speak: lanes that
  // raise the maximum have been read first.
  std::string true_as_well;
  // Of the pools that it takes, and the target that does right what it does
  // wrong.
  Layout layout = FP8_DS_MLA;
  std::string right = "builtin";
};

// One entry for every wrong target of AllTargets().
const std::vector<LedgerEntry>& Ledger();
// Those of them that are `core`.
std::vector<LedgerEntry> CoreLedger();
// nullptr if there is none.
const LedgerEntry* FindInLedger(absl::string_view target);

struct Reach {
  // A step calls a wrong kernel, and its host lets it through.
  bool reached = false;
  // Right and wrong kernel must leave different bytes behind (or end
  // differently): a harness that passes this case has missed the fault. False
  // for faults that show only under some lane schedule.
  bool triggered = false;
  // The wrong rule reads memory that is not the step's: of what comes of that,
  // triggered or not, nothing is known.
  bool foreign = false;
};

// What the right target of an entry promises (families_test holds it to that).
Contract RightContract(const LedgerEntry& entry);

// For a case of valid, boundary and invalid steps under RightContract().
Reach ReachOf(const LedgerEntry& entry, const CaseImage& image);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_LEDGER_LEDGER_H_
