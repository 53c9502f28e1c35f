#ifndef MLAFUZZ_ORACLE_DEVICE_DECODE_CALL_H_
#define MLAFUZZ_ORACLE_DEVICE_DECODE_CALL_H_

#include <cstdint>

#include "oracle/device/decode_room.h"
#include "oracle/device/decode_rules.h"
#include "oracle/device/device_code.h"

namespace mlafuzz::oracle {

// A call of decodes to be judged, and how its plan lies in one stretch of
// bytes: queries, keys, blocks, splits, each from a multiple of 16 on.
struct DecodeCall {
  DecodeRules rules;
  DecodeMost most;
  std::uint32_t queries;
  std::uint32_t keys;
  std::uint32_t blocks;
  std::uint32_t splits;
  bool with_checksum;

  MLAFUZZ_ORACLE_CODE std::uint64_t rows() const {
    return std::uint64_t{queries} * static_cast<std::uint64_t>(rules.heads);
  }

  MLAFUZZ_ORACLE_CODE static constexpr std::uint64_t After(
      std::uint64_t at, std::uint64_t bytes) {
    return (at + bytes + 15) / 16 * 16;
  }
  MLAFUZZ_ORACLE_CODE std::uint64_t keys_at() const {
    return After(0, std::uint64_t{queries} * sizeof(DecodeQuery));
  }
  MLAFUZZ_ORACLE_CODE std::uint64_t blocks_at() const {
    return After(keys_at(), std::uint64_t{keys} * sizeof(DecodeKey));
  }
  MLAFUZZ_ORACLE_CODE std::uint64_t splits_at() const {
    return After(blocks_at(), std::uint64_t{blocks} * sizeof(KeyRange));
  }
  MLAFUZZ_ORACLE_CODE std::uint64_t plan_bytes() const {
    return After(splits_at(), std::uint64_t{splits} * sizeof(DecodeSplit));
  }
};

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DEVICE_DECODE_CALL_H_
