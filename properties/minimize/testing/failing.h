#ifndef MLAFUZZ_PROPERTIES_MINIMIZE_TESTING_FAILING_H_
#define MLAFUZZ_PROPERTIES_MINIMIZE_TESTING_FAILING_H_

#include <string>

#include "corpus/case.pb.h"
#include "properties/ledger/ledger.h"
#include "properties/minimize/testing/twin.h"

namespace mlafuzz {

// Of a cause that Twin gives.
inline constexpr char kOutside[] = " (outside)";

struct Failing {
  std::string cause;  // empty: nothing fails
  Case rich;          // the largest of the first few
};

// A failure by the cause that the ledger names: its field and value, or the
// start of its key; where a fault has neither, the first. Within the tensors,
// if it shows there.
Failing FailureOf(const LedgerEntry& entry, Twin& twin);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_MINIMIZE_TESTING_FAILING_H_
