#ifndef MLAFUZZ_FUZZ_LEDGER_TEXT_H_
#define MLAFUZZ_FUZZ_LEDGER_TEXT_H_

#include <string>

#include "fuzz/ledger/result.h"

namespace mlafuzz {

// One line for progress.
std::string MutantLine(const MutantRow& row);
std::string ControlLine(const ControlRow& row);

// A page for people: survivors first, then all wrong kernels, right ones,
// baselines, and what it comes to.
std::string LedgerText(const LedgerResult& result);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_LEDGER_TEXT_H_
