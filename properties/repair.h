#ifndef MLAFUZZ_PROPERTIES_REPAIR_H_
#define MLAFUZZ_PROPERTIES_REPAIR_H_

#include <cstdint>

#include "corpus/case.pb.h"
#include "properties/generate.h"

namespace mlafuzz {

// How large a case may be. Small ones keep the host backend under 5 ms.
struct CaseLimits {
  std::uint32_t page_size;  // rows
  std::uint64_t slots;      // pages * page_size
  std::uint32_t tokens;     // of one write
  std::uint32_t dst_rows;
  std::uint32_t requests;
  std::uint32_t table_columns;
  std::uint32_t index_rows;
  std::uint32_t index_width;
  std::uint32_t index_cells;  // rows * width
  std::uint32_t decode_queries;
  std::uint32_t decode_width;
  std::uint64_t decode_cells;  // queries * heads * width
  // Rows that are wider than this come alone and have few keys: masked lanes
  // cost little.
  std::uint32_t decode_dense_width;
  std::uint32_t decode_wide_keys;
  int steps;
};
CaseLimits LimitsOf(const GeneratorOptions& options);

// Changes `c` as little as it takes so that it builds, keeps to `options` and
// has no step that is unspecified under BuiltinContract(): slots are in range
// or negative and distinct, no request leaves dst, requests that share a row of
// dst take it from one slot, every block-table entry that is read names a page,
// request ids name table rows, lanes of a decode that count name slots. A case
// that is none of these and within the limits comes back as it is. Steps of
// kernels that `options` leaves out are dropped. Any case may come in, one
// parsed from an engine's bytes too. Keeps what is already right, classes that
// a host must refuse included (where `options` allows them). Idempotent.
void RepairCase(Case& c, const GeneratorOptions& options);

// Parts; `pool` must be repaired already.
void RepairPool(Pool& pool, const GeneratorOptions& options);
void RepairWrite(Write& write, const Pool& pool,
                 const GeneratorOptions& options);
void RepairGather(Gather& gather, const Pool& pool,
                  const GeneratorOptions& options);
void RepairConvert(Convert& convert, const Pool& pool,
                   const GeneratorOptions& options);
void RepairDecode(Decode& decode, const Pool& pool,
                  const GeneratorOptions& options);

// Lets every row start at a multiple of 16 bytes, as decodes want it.
void AlignForDecode(Pool& pool);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_REPAIR_H_
