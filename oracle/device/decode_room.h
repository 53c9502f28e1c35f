#ifndef MLAFUZZ_ORACLE_DEVICE_DECODE_ROOM_H_
#define MLAFUZZ_ORACLE_DEVICE_DECODE_ROOM_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "oracle/decode/interval.h"
#include "oracle/decode/logit.h"
#include "oracle/decode/merge_splits.h"
#include "oracle/decode/row_values.h"
#include "oracle/decode/split_weights.h"
#include "oracle/device/device_code.h"

namespace mlafuzz::oracle {

// The most that a query of a call has.
struct DecodeMost {
  std::uint32_t keys = 0;  // slot 0 included
  std::uint32_t blocks = 0;
  std::uint32_t splits = 0;
  std::uint32_t weight_tiles = 1;  // tiles with weights of their own
};

// What one row is worked out in, apart from DecodeShared; nothing of it need be
// cleared.
struct DecodeRoom {
  RowFacts* key_facts;
  RowFacts* value_facts;
  float* key_scales;        // [keys][kMaxTiles]
  ReadScale* value_scales;  // alike
  DotSums* dots;            // [keys][kDotParts]
  double* t;
  double* dt;
  SplitRoom split;
  SplitSummary* summaries;  // [splits]
  Bounded* split_weights;   // [splits]
  Bounded* parts;           // [splits][kLatent]
  Bounded* out;             // [kLatent]: value and bound
};

// Room laid into `base`; returns the bytes it takes, a multiple of 256. `base`
// may be null to ask for those.
MLAFUZZ_ORACLE_CODE inline std::size_t LayRoom(const DecodeMost& most,
                                               char* base, DecodeRoom* room) {
  std::size_t at = 0;
  const auto take = [&](auto*& array, std::size_t count) {
    at = (at + 15) / 16 * 16;
    using Entry = std::remove_reference_t<decltype(*array)>;
    array = reinterpret_cast<Entry*>(base + at);
    at += count * sizeof(Entry);
  };
  const std::size_t keys = most.keys;
  take(room->key_facts, keys);
  take(room->value_facts, keys);
  take(room->key_scales, keys * kMaxTiles);
  take(room->value_scales, keys * kMaxTiles);
  take(room->dots, keys * kDotParts);
  take(room->t, keys);
  take(room->dt, keys);
  take(room->split.weight, keys * most.weight_tiles);
  take(room->split.radius, keys * most.weight_tiles);
  room->split.stride = static_cast<std::int64_t>(keys);
  take(room->split.alive, keys);
  take(room->split.reach, kMaxTiles);
  take(room->split.p, keys);
  take(room->split.error, keys);
  take(room->split.block_of, keys);
  take(room->split.blocks, most.blocks);
  take(room->summaries, most.splits);
  take(room->split_weights, most.splits);
  take(room->parts, std::size_t{most.splits} * kLatent);
  take(room->out, kLatent);
  return (at + 255) / 256 * 256;
}

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DEVICE_DECODE_ROOM_H_
