#ifndef MLAFUZZ_ORACLE_DEVICE_DECODE_RULES_H_
#define MLAFUZZ_ORACLE_DEVICE_DECODE_RULES_H_

#include <cstdint>

#include "oracle/decode/arithmetic_rules.h"
#include "oracle/decode/logit.h"
#include "oracle/decode/row_values.h"
#include "oracle/decode/split_weights.h"
#include "oracle/device/device_code.h"

// A decode call as plain numbers, for oracle/device/decode_rows.h. Offsets are
// in the memory that holds all tensors.
namespace mlafuzz::oracle {

// What all rows of a call have in common.
struct DecodeRules {
  ArithmeticRules arithmetic;
  ResultRules result;
  LogitRules logit;
  ValueRules key_values;
  ValueRules values;
  SideRules key_side;
  SideRules value_side;
  bool reads_rope;  // as a value, where it is among them
  bool may_flush;   // see DecodeExpectation
  bool unit_weights;

  // A token, as oracle/layout.h; its tiles, as ValueTiles.
  std::int32_t codes_at;
  std::int32_t scales_at;
  std::int32_t rope_at;
  std::int32_t row_part;
  bool byte_scales;
  std::int32_t tile_columns;
  std::int32_t tiles;
  std::int32_t scaled;

  // Of q [queries, heads, width], out [queries, heads, 512], lse [queries,
  // heads]: strides in elements.
  std::int32_t heads;
  std::int32_t query_columns;  // that meet a row: 512, or 576
  std::int32_t query_back;     // columns from 512 on are taken so far before
  std::int64_t q_width;
  std::int64_t q_strides[3];
  std::int64_t out_strides[3];
  std::int64_t lse_strides[2];
  // fp32 [heads]; kNoSinks where there are none, or none that count.
  std::uint64_t sinks;
  static constexpr std::uint64_t kNoSinks = ~std::uint64_t{0};

  MLAFUZZ_ORACLE_CODE std::int32_t rope_column() const {
    return tile_columns * scaled;
  }
};

// A row of the cache.
struct DecodeKey {
  std::uint64_t at;
  std::uint64_t behind;  // its bytes behind all rows of the page
};

// Of a query's keys, numbered within it.
struct DecodeSplit {
  KeyRange keys;
  std::int32_t first_block;  // within the query's
  std::int32_t blocks;
};

// One query, of one member of a shared call, with all its heads.
struct DecodeQuery {
  std::uint64_t q;          // of the member's
  std::int64_t q_elements;  // that the member has
  std::uint64_t out;        // of the query's
  std::uint64_t lse;
  std::int64_t number;  // in the member
  // Of the call's arrays; a row of slot 0 that masked lanes read comes behind
  // the keys.
  std::uint32_t first_key;
  std::uint32_t keys;
  std::uint32_t first_block;
  std::uint32_t blocks;
  std::uint32_t first_split;
  std::uint32_t splits;
  std::uint32_t masked;  // lanes that read slot 0
  bool known;            // as KeyPlan
};

// What is said of one row (query and head).
struct DecodeTold {
  // The largest share of its bound that the LSE's error takes.
  double lse_of_bound;
  // Of the values and bounds that were worked out; 0 where they were not.
  std::uint64_t checksum;
  // Every output and the LSE is what the host would pass. Else nothing is said.
  std::uint8_t within;
  // Some output, the LSE has a bound at all.
  std::uint8_t settled_out;
  std::uint8_t settled_lse;
};

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DEVICE_DECODE_RULES_H_
