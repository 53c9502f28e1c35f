#ifndef MLAFUZZ_ORACLE_CHANGED_ROW_H_
#define MLAFUZZ_ORACLE_CHANGED_ROW_H_

#include <cstdint>

#include "absl/types/span.h"
#include "oracle/layout.h"

namespace mlafuzz::oracle {

// A cache row whose parts stand elsewhere, or whose words have their bytes in
// another order.
struct RowChange {
  const char* key;    // "scales-rotated"
  const char* words;  // "has each scale in the place of another tile's"
  // Changes a row of the layout in place; nothing where it has no such parts.
  void (*change)(const RowLayout&, std::uint8_t* row);
};

// All that are known; several may have one key.
absl::Span<const RowChange> RowChanges();

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_CHANGED_ROW_H_
