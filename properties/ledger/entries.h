#ifndef MLAFUZZ_PROPERTIES_LEDGER_ENTRIES_H_
#define MLAFUZZ_PROPERTIES_LEDGER_ENTRIES_H_

#include <string>
#include <vector>

#include "properties/ledger/ledger.h"

namespace mlafuzz {

// The parts of Ledger(), each in the file of its name.
std::vector<LedgerEntry> WriterEntries();   // wrong writers
std::vector<LedgerEntry> GatherEntries();   // wrong gathers
std::vector<LedgerEntry> ConvertEntries();  // wrong index conversions
std::vector<LedgerEntry> DecodeEntries();   // wrong decodes
// The same, of the families of kernels/mutants/ and kernels/decode/mutants/.
std::vector<LedgerEntry> WriterFamilyEntries();
std::vector<LedgerEntry> GatherFamilyEntries();
std::vector<LedgerEntry> ConvertFamilyEntries();
std::vector<LedgerEntry> DecodeFamilyEntries();
std::vector<LedgerEntry> VariantEntries();   // of kernels/mutants/variants.h
std::vector<LedgerEntry> ImpostorEntries();  // no kernels at all
std::vector<LedgerEntry> LayoutEntries();    // of other layouts

// An entry that is not of the core: a kernel that follows another rule, whose
// key names it; and one that follows none.
LedgerEntry OneRule(Kernel kernel, std::string target,
                    std::vector<std::string> properties, std::string field,
                    std::string value, std::string source);
LedgerEntry NoRule(Kernel kernel, std::string target,
                   std::vector<std::string> properties, std::string key,
                   std::string source);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_LEDGER_ENTRIES_H_
