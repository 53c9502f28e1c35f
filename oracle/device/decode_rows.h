#ifndef MLAFUZZ_ORACLE_DEVICE_DECODE_ROWS_H_
#define MLAFUZZ_ORACLE_DEVICE_DECODE_ROWS_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "oracle/decode/decode_matches.h"
#include "oracle/decode/logit.h"
#include "oracle/decode/merge_splits.h"
#include "oracle/decode/row_values.h"
#include "oracle/decode/split_weights.h"
#include "oracle/decode/weighted_values.h"
#include "oracle/device/decode_room.h"
#include "oracle/device/decode_rules.h"
#include "oracle/device/device_code.h"
#include "oracle/device/write_rows.h"

// What a decode must return, worked out where its tensors are, and whether what
// it returned is that. Every formula is the one ExpectDecode() uses, in the
// same order of operations, so that values and bounds have the same bits:
// device/decode_rows_test.cc holds that. What ExpectDecode() has to say beyond
// finite values of normal range is left to it: such a row is not told.
namespace mlafuzz::oracle {

// What the threads of a team have in common.
struct DecodeShared {
  double query[kQueryColumns];
  QueryFacts facts;
  SplitState split;
  MergeState merge;
  double factor;  // SplitSimulation::SumFactor()
  double reach;
  Bounded lse;
  int told;
  int settled_out;
};

// One row. Team: For(n, f) has f(i) done for each i in [0, n), by its threads
// side by side, and One(f) by one; both end when all is done. Together() waits
// for all.
template <class Team>
class DecodeRow {
 public:
  // `memory`: of the inputs, and `left`, of what came back, are laid alike.
  MLAFUZZ_ORACLE_CODE DecodeRow(const Team& team, const DecodeRules& rules,
                                const std::uint8_t* memory,
                                const std::uint8_t* left,
                                const DecodeQuery& query, int head,
                                const DecodeKey* keys, const KeyRange* blocks,
                                const DecodeSplit* splits,
                                const DecodeRoom& room, DecodeShared* shared)
      : team_(team),
        rules_(rules),
        memory_(memory),
        left_(left),
        query_(query),
        head_(head),
        keys_(keys + query.first_key),
        blocks_(blocks + query.first_block),
        splits_(splits + query.first_split),
        room_(room),
        shared_(*shared) {}

  // Told by one thread, into `told`.
  MLAFUZZ_ORACLE_CODE void Run(bool with_checksum, DecodeTold* told) {
    team_.One([&] {
      shared_.told = 1;
      shared_.settled_out = 0;
      *told = {};
    });
    const int keys = static_cast<int>(query_.keys);
    if (query_.masked > 0) team_.One([&] { ReadSlot0(keys); });
    if (!Goes()) return;
    if (keys == 0) {
      Empty();
    } else if (!Work()) {
      return;
    }
    Compare();
    team_.One([&] { Tell(with_checksum, told); });
  }

 private:
  // Whether all is told so far.
  MLAFUZZ_ORACLE_CODE bool Goes() const {
    const bool told = shared_.told != 0;
    team_.Together();
    return told;
  }
  MLAFUZZ_ORACLE_CODE void NotTold() { shared_.told = 0; }

  // ---- rows of the cache

  MLAFUZZ_ORACLE_CODE const std::uint8_t* TokenAt(const DecodeKey& key,
                                                  int byte) const {
    return memory_ + (byte < rules_.row_part
                          ? key.at + byte
                          : key.behind + (byte - rules_.row_part));
  }

  MLAFUZZ_ORACLE_CODE ReadScale ScaleOf(const SideRules& side,
                                        const DecodeKey& key, int tile) const {
    if (tile >= rules_.scaled) return {1.0f};
    if (rules_.byte_scales) {
      return ReadByteScale(side, *TokenAt(key, rules_.scales_at + tile));
    }
    const std::uint8_t* at = TokenAt(key, rules_.scales_at + 4 * tile);
    return ReadFp32Scale(side.scale,
                         Load16(at) | std::uint32_t{Load16(at + 2)} << 16);
  }

  // As Dequantiser::Row() of a row none of whose tiles is slow; else nothing is
  // told. `scale(t)`: of the side.
  template <class Scale>
  MLAFUZZ_ORACLE_CODE RowFacts FactsOf(const ValueRules& side,
                                       const DecodeKey& key, bool own_rope,
                                       const Scale& scale_of) {
    RowFacts facts;
    facts.granule = kInfinity;
    for (int t = 0; t < rules_.scaled; ++t) {
      const ReadScale scale = scale_of(t);
      AddScale(side, scale, &facts);
      if (IsSlowTile(side, scale.value)) facts.unknown = true;
      std::uint8_t most = 0;
      std::uint32_t units = 0;
      const std::uint8_t* const codes =
          TokenAt(key, rules_.codes_at + t * rules_.tile_columns);
      for (int i = 0; i < rules_.tile_columns; ++i) {
        const std::uint8_t magnitude = codes[i] & 0x7f;
        if (magnitude > most) most = magnitude;
        units |= E4m3Units(magnitude);
      }
      AddTile(side, most, scale.value, &facts);
      if (facts.granule == 0 || !HasGranule(side, scale.value)) {
        facts.granule = 0;
        continue;
      }
      AddGranule(side, units, scale.value, &facts);
    }
    if (rules_.scaled < rules_.tiles && own_rope) {
      const RowFacts rope = RopeOf(key, facts.granule != 0);
      facts.finite &= rope.finite;
      facts.largest = Max(facts.largest, rope.largest);
      facts.granule = Min(facts.granule, rope.granule);
    }
    if (facts.unknown || !facts.finite) NotTold();
    return facts;
  }

  MLAFUZZ_ORACLE_CODE RowFacts RopeOf(const DecodeKey& key,
                                      bool with_granule) const {
    RopeFacts facts;
    const std::uint8_t* const at = TokenAt(key, rules_.rope_at);
    for (int i = 0; i < kRope; ++i) facts.Add(Load16(at + 2 * i));
    return facts.Facts(with_granule);
  }

  MLAFUZZ_ORACLE_CODE void ReadKey(int j) {
    const DecodeKey& key = keys_[j];
    for (int t = 0; t < rules_.tiles; ++t) {
      room_.key_scales[j * kMaxTiles + t] =
          ScaleOf(rules_.key_side, key, t).value;
      room_.value_scales[j * kMaxTiles + t] =
          ScaleOf(rules_.value_side, key, t);
    }
    RowFacts facts =
        FactsOf(rules_.key_values, key, /*own_rope=*/true,
                [&](int t) { return ScaleOf(rules_.key_side, key, t); });
    if (rules_.query_columns > kLatent) {
      const RowFacts rope = RopeOf(key, facts.granule != 0);
      facts.granule = Min(facts.granule, rope.granule);
      if (!rope.finite) NotTold();
    }
    room_.key_facts[j] = facts;
    room_.value_facts[j] =
        FactsOf(rules_.values, key, rules_.reads_rope,
                [&](int t) { return room_.value_scales[j * kMaxTiles + t]; });
  }

  // The row that masked lanes read leaves no trace if all is finite in it.
  MLAFUZZ_ORACLE_CODE void ReadSlot0(int j) {
    const DecodeKey& key = keys_[j];
    const RowFacts facts =
        FactsOf(rules_.values, key, rules_.reads_rope,
                [&](int t) { return ScaleOf(rules_.value_side, key, t); });
    for (int t = 0; t < rules_.scaled; ++t) {
      if (!std::isfinite(ScaleOf(rules_.value_side, key, t).value)) NotTold();
    }
    if (rules_.unit_weights &&
        (query_.keys == 0 || !(2 * facts.largest * query_.masked < kFp32Max))) {
      NotTold();
    }
  }

  // Column c of a key's row; from 512 on, its rope.
  MLAFUZZ_ORACLE_CODE double Value(const ValueRules& side, const DecodeKey& key,
                                   int c, float scale, bool rope) const {
    const int from = rules_.rope_column();
    if (c >= from) {
      return rope ? Bf16FromBits(
                        Load16(TokenAt(key, rules_.rope_at + 2 * (c - from))))
                  : 0.0f;
    }
    return DequantisedValue(
        side, E4m3ToFloat(*TokenAt(key, rules_.codes_at + c), E4m3Reading::kFn),
        scale);
  }
  MLAFUZZ_ORACLE_CODE double KeyValue(int j, int c) const {
    const int tile = c < kLatent ? c / rules_.tile_columns : 0;
    return Value(rules_.key_values, keys_[j], c,
                 room_.key_scales[j * kMaxTiles + tile], /*rope=*/true);
  }
  MLAFUZZ_ORACLE_CODE double OwnValue(int j, int c) const {
    return Value(
        rules_.values, keys_[j], c,
        room_.value_scales[j * kMaxTiles + c / rules_.tile_columns].value,
        rules_.reads_rope);
  }

  // ---- logits

  MLAFUZZ_ORACLE_CODE void ReadQuery(int i) {
    const int column = i < kLatent ? i : i - rules_.query_back;
    const std::int64_t at =
        query_.number * rules_.q_strides[0] + head_ * rules_.q_strides[1];
    const std::int64_t element = column < rules_.q_width
                                     ? at + column * rules_.q_strides[2]
                                     : at + column;
    if (element < 0 || element >= query_.q_elements) {
      shared_.query[i] = 0;
      NotTold();
      return;
    }
    shared_.query[i] = Bf16FromBits(
        Load16(memory_ + query_.q + 2 * static_cast<std::uint64_t>(element)));
  }

  MLAFUZZ_ORACLE_CODE void QuantiseQuery(int tile) {
    double* const q = shared_.query + tile * rules_.tile_columns;
    double amax = 0;  // NaN does not count
    for (int i = 0; i < rules_.tile_columns; ++i) {
      amax = Max(amax, std::isnan(q[i]) ? 0.0 : std::fabs(q[i]));
    }
    if (std::isinf(amax)) return NotTold();
    const double scale = QueryScale(amax);
    for (int i = 0; i < rules_.tile_columns; ++i) {
      q[i] = QuantisedQuery(q[i], scale);
    }
  }

  MLAFUZZ_ORACLE_CODE void DotPart(int item) {
    const int j = item / kDotParts;
    DotSums part;
    for (int c = item % kDotParts; c < rules_.query_columns; c += kDotParts) {
      AddTerm(shared_.query[c], KeyValue(j, c), &part.sum, &part.magnitude);
    }
    room_.dots[item] = part;
  }

  MLAFUZZ_ORACLE_CODE void Logit(const ErrorModel& errors, double sum_error,
                                 int j) {
    const DotSums exact = Total(room_.dots + j * kDotParts);
    if (std::isnan(exact.sum) ||
        MayOverflow(rules_.logit, shared_.facts, exact)) {
      return NotTold();
    }
    const double centre =
        rules_.logit.mma_bits == 0
            ? exact.sum
            : MmaDot(
                  shared_.query, [&](int c) { return KeyValue(j, c); },
                  rules_.query_columns, rules_.logit.mma_bits);
    const Bounded t = LogitOf(rules_.logit, errors, sum_error, shared_.facts,
                              room_.key_facts[j], exact, centre, /*inputs=*/0);
    room_.t[j] = t.value;
    room_.dt[j] = t.radius;
  }

  // ---- splits

  // False: not told.
  MLAFUZZ_ORACLE_CODE bool Split(const DecodeSplit& of, bool merged, int part) {
    const SplitKeys split = {
        .t = room_.t,
        .dt = room_.dt,
        .sentinel = rules_.logit.sentinel,
        .keys = of.keys,
        .blocks = blocks_ + of.first_block,
        .block_count = of.blocks,
        .known = query_.known,
        .scales = room_.value_scales,
        .tiles = rules_.arithmetic.scale_in_weights() ? rules_.tiles : 1,
        .no_rescale = false,
    };
    SplitSimulation simulation(rules_.arithmetic, split, room_.split,
                               &shared_.split);
    const int count = simulation.count();
    const auto usable = [&] {
      if (!simulation.usable()) NotTold();
    };
    team_.One([&] {
      simulation.Begin();
      usable();
    });
    if (!Goes()) return false;
    team_.For(count, [&](int at) { simulation.Weigh(at); });
    team_.One([&] {
      simulation.Sum();
      usable();
    });
    if (!Goes()) return false;
    if (rules_.arithmetic.scale_in_weights()) {
      team_.For(split.tiles, [&](int tile) { simulation.Codes(tile); });
    }
    team_.One([&] {
      shared_.factor = simulation.SumFactor();
      shared_.reach = 0;
      for (int t = 0; t < kMaxTiles; ++t) {
        shared_.reach = Max(shared_.reach, room_.split.reach[t]);
      }
      room_.summaries[part] = shared_.split.summary;
    });
    const double tiny = ErrorModel(rules_.arithmetic).Tiny();
    team_.For(count, [&](int at) {
      for (int t = 0; t < split.tiles; ++t) {
        simulation.Widen(shared_.factor, t, at);
      }
      const RowFacts& facts = room_.value_facts[of.keys.first + at];
      if (MayLeaveRange(facts.finite, facts.largest, shared_.reach,
                        shared_.split.summary)) {
        NotTold();
      }
    });
    if (!Goes()) return false;
    team_.For(kLatent, [&](int c) {
      Bounded o = ColumnOf(of, c, tiny);
      if (merged) o = RoundPartial(rules_.arithmetic.partials, o);
      room_.parts[part * kLatent + c] = o;
    });
    return true;
  }

  MLAFUZZ_ORACLE_CODE Bounded ColumnOf(const DecodeSplit& of, int c,
                                       double tiny) const {
    const std::int64_t tile =
        rules_.arithmetic.scale_in_weights() ? c / rules_.tile_columns : 0;
    const double* const w = room_.split.weight + tile * room_.split.stride;
    const double* const r = room_.split.radius + tile * room_.split.stride;
    const int first = of.keys.first, count = of.keys.end - of.keys.first;
    double sum = 0, radius = 0;
    int k = 0;
    for (; k + kKeysAtATime <= count; k += kKeysAtATime) {
      AddFourKeys(w + k, r + k, OwnValue(first + k, c),
                  OwnValue(first + k + 1, c), OwnValue(first + k + 2, c),
                  OwnValue(first + k + 3, c), &sum, &radius);
    }
    for (; k < count; ++k) {
      AddKey(w[k], r[k], OwnValue(first + k, c), &sum, &radius);
    }
    return SplitColumn(sum, radius, shared_.split.summary, tiny);
  }

  MLAFUZZ_ORACLE_CODE Sink SinkOfHead() const {
    if (rules_.sinks == DecodeRules::kNoSinks) return {};
    const std::uint8_t* const at = memory_ + rules_.sinks + 4 * head_;
    return SinkOfValue(
        std::bit_cast<float>(Load16(at) | std::uint32_t{Load16(at + 2)} << 16));
  }

  // False: not told.
  MLAFUZZ_ORACLE_CODE bool Work() {
    const int keys = static_cast<int>(query_.keys);
    team_.For(rules_.query_columns, [&](int i) { ReadQuery(i); });
    if (rules_.arithmetic.query == ArithmeticRules::Query::kE4m3) {
      team_.For(rules_.scaled, [&](int tile) { QuantiseQuery(tile); });
    }
    team_.For(keys + 1, [&](int j) {
      if (j < keys) {
        ReadKey(j);
        return;
      }
      shared_.facts = QueryFacts();
      for (int i = 0; i < rules_.query_columns; ++i) {
        shared_.facts.Add(shared_.query[i], 0);
      }
    });
    if (!Goes()) return false;
    team_.For(keys * kDotParts, [&](int item) { DotPart(item); });
    const ErrorModel errors(rules_.arithmetic);
    const double sum_error =
        errors.Sum(shared_.facts.nonzero, rules_.query_columns,
                   rules_.logit.rounded, rules_.logit.fp8);
    team_.For(keys, [&](int j) { Logit(errors, sum_error, j); });
    if (!Goes()) return false;

    int parts = 0;
    for (std::uint32_t i = 0; i < query_.splits; ++i) {
      parts += splits_[i].keys.first != splits_[i].keys.end ? 1 : 0;
    }
    int part = 0;
    for (std::uint32_t i = 0; i < query_.splits; ++i) {
      if (splits_[i].keys.first == splits_[i].keys.end) continue;
      if (!Split(splits_[i], parts > 1, part++)) return false;
    }
    const Sink sink = SinkOfHead();
    if (sink.present && std::isnan(sink.value)) return false;
    Merge merge(rules_.arithmetic, rules_.result, query_.known, sink, parts,
                room_.split_weights, &shared_.merge);
    team_.One([&] {
      merge.Begin(
          [&](int i) -> const SplitSummary& { return room_.summaries[i]; });
      shared_.lse = merge.Lse();
    });
    team_.For(kLatent, [&](int c) {
      room_.out[c] =
          merge.Column([&](int i) { return room_.parts[i * kLatent + c]; });
    });
    return true;
  }

  MLAFUZZ_ORACLE_CODE void Empty() {
    const Sink sink = SinkOfHead();
    team_.For(kLatent, [&](int c) { room_.out[c] = {0, 0}; });
    team_.One([&] {
      shared_.lse = EmptyRowLse(rules_.result, sink);
      if (std::isnan(sink.value)) NotTold();
    });
  }

  // ---- what came back

  MLAFUZZ_ORACLE_CODE void Compare() {
    const std::uint64_t head = static_cast<std::uint64_t>(head_);
    team_.For(kLatent, [&](int c) {
      const Bounded& out = room_.out[c];
      if (!std::isinf(out.radius)) shared_.settled_out = 1;
      const std::uint64_t at =
          query_.out +
          2 * (head * static_cast<std::uint64_t>(rules_.out_strides[1]) +
               static_cast<std::uint64_t>(c) *
                   static_cast<std::uint64_t>(rules_.out_strides[2]));
      if (!OutMatches(out.value, out.radius, rules_.may_flush,
                      Load16(left_ + at))) {
        NotTold();
      }
    });
  }

  MLAFUZZ_ORACLE_CODE void Tell(bool with_checksum, DecodeTold* told) {
    const std::uint8_t* const at =
        left_ + query_.lse +
        4 * static_cast<std::uint64_t>(head_ * rules_.lse_strides[1]);
    const float lse =
        std::bit_cast<float>(Load16(at) | std::uint32_t{Load16(at + 2)} << 16);
    const Bounded& expected = shared_.lse;
    told->within =
        shared_.told != 0 && LseMatches(expected.value, expected.radius, lse)
            ? 1
            : 0;
    told->settled_out = shared_.settled_out != 0 ? 1 : 0;
    told->settled_lse = std::isinf(expected.radius) ? 0 : 1;
    told->lse_of_bound = LseOfBound(expected.value, expected.radius, lse);
    if (!with_checksum) return;
    std::uint64_t sum = 0;
    const auto add = [&sum](const Bounded& x) {
      sum = sum * 0x9e3779b97f4a7c15u + std::bit_cast<std::uint64_t>(x.value);
      sum = sum * 0x9e3779b97f4a7c15u + std::bit_cast<std::uint64_t>(x.radius);
    };
    add(expected);
    for (int c = 0; c < kLatent; ++c) add(room_.out[c]);
    told->checksum = sum;
  }

  const Team& team_;
  const DecodeRules& rules_;
  const std::uint8_t* const memory_;
  const std::uint8_t* const left_;
  const DecodeQuery& query_;
  const int head_;
  const DecodeKey* const keys_;
  const KeyRange* const blocks_;
  const DecodeSplit* const splits_;
  const DecodeRoom& room_;
  DecodeShared& shared_;
};

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DEVICE_DECODE_ROWS_H_
