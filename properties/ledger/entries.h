#ifndef MLAFUZZ_PROPERTIES_LEDGER_ENTRIES_H_
#define MLAFUZZ_PROPERTIES_LEDGER_ENTRIES_H_

#include <vector>

#include "properties/ledger/ledger.h"

namespace mlafuzz {

// The parts of Ledger(), each in the file of its name.
std::vector<LedgerEntry> WriterEntries();        // wrong writers
std::vector<LedgerEntry> GatherEntries();        // wrong gathers
std::vector<LedgerEntry> ConvertEntries();       // wrong index conversions
std::vector<LedgerEntry> DecodeEntries();        // wrong decodes, a file each
std::vector<LedgerEntry> DecodeFamilyEntries();  // wrong decodes by family
std::vector<LedgerEntry> ImpostorEntries();      // no kernels at all

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_LEDGER_ENTRIES_H_
