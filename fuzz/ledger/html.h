#ifndef MLAFUZZ_FUZZ_LEDGER_HTML_H_
#define MLAFUZZ_FUZZ_LEDGER_HTML_H_

#include <string>

#include "fuzz/ledger/result.h"

namespace mlafuzz {

// One page that needs nothing beside it: the kill matrix (a row a wrong kernel,
// a column an engine or baseline, a cell who killed it and how soon), and the
// right kernels. Every cell has a sign and words as well as a colour, so that
// it can be read in print and whatever colours the reader sees.
std::string LedgerHtml(const LedgerResult& result);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_LEDGER_HTML_H_
