#include "properties/bounds/bound_search.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "properties/choices.h"

namespace mlafuzz {
namespace {

constexpr int kColumns = 512 + 64;
constexpr int kMaxEdits = 64;  // of one list
// Edits in a row that may lead nowhere.
constexpr int kPatience = 60;

std::string Bytes(std::uint32_t word, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) {
    bytes.push_back(static_cast<char>(word >> (8 * i)));
  }
  return bytes;
}

// Positive, 2^low .. 2^high, any fraction or none.
std::uint32_t Float(Choices& choices, int low, int high) {
  const auto exponent =
      static_cast<std::uint32_t>(127 + choices.Between(low, high));
  return exponent << 23 | (choices.OneIn(4) ? 0 : choices.Below(1u << 23));
}

// bf16, either sign.
std::uint32_t Word(Choices& choices, int low, int high) {
  return Float(choices, low, high) >> 16 | choices.Below(2) << 15;
}

class Climber {
 public:
  Climber(std::uint32_t keys, std::uint64_t seed)
      : keys_(keys),
        slots_(std::clamp<std::uint32_t>(keys, 8, 64)),
        choices_(seed) {}

  Case Start() {
    Case c;
    Pool& pool = *c.mutable_pool();
    pool.set_page_size(slots_);
    pool.set_pages(1);
    Fill(*pool.mutable_fill());
    Decode& decode = *c.add_steps()->mutable_decode();
    decode.set_queries(1);
    decode.set_heads(1);
    if (choices_.OneIn(2)) decode.set_pe_dim(64);
    Query(*decode.mutable_q());
    Indices& indices = *decode.mutable_indices();
    indices.set_rows(1);
    indices.set_valid(keys_);
    Lanes(indices);
    decode.set_softmax_scale_bits(Float(choices_, -6, 0));
    return c;
  }

  // One edit.
  void Step(Case& c) {
    Pool& pool = *c.mutable_pool();
    Decode& decode = *c.mutable_steps(0)->mutable_decode();
    Values& q = *decode.mutable_q();
    switch (choices_.Below(12)) {
      case 0:
        Fill(*pool.mutable_fill());
        break;
      case 1:
      case 2:
        Patch1(pool);
        break;
      case 3:
        Query(q);
        break;
      case 4:
      case 5:
      case 6: {
        if (q.set_size() >= kMaxEdits || (q.set_size() > 0 && Coin())) {
          q.mutable_set()->SwapElements(
              static_cast<int>(
                  choices_.Below(static_cast<std::uint32_t>(q.set_size()))),
              q.set_size() - 1);
          q.mutable_set()->RemoveLast();
          if (Coin()) break;
        }
        SetBits& set = *q.add_set();
        set.set_at(choices_.Below(kColumns));
        set.set_bits(Word(choices_, -8, 4));
        break;
      }
      case 7:
        decode.set_softmax_scale_bits(Float(choices_, -8, 1));
        break;
      case 8:
        Lanes(*decode.mutable_indices());
        break;
      case 9:
        decode.set_splits(choices_.Below(5));
        break;
      case 10:
        decode.clear_sink_bits();
        if (Coin()) decode.add_sink_bits(Float(choices_, -3, 4));
        break;
      default:
        if (pool.patches_size() > 0) {
          pool.mutable_patches()->DeleteSubrange(
              static_cast<int>(choices_.Below(
                  static_cast<std::uint32_t>(pool.patches_size()))),
              1);
        }
    }
  }

 private:
  bool Coin() { return choices_.OneIn(2); }

  void Fill(Fill& fill) {
    fill.set_kind(choices_.OneIn(6) ? Fill::LATTICE_ROWS : Fill::FINITE_ROWS);
    fill.set_scales(choices_.Pick(
        {Fill::ARBITRARY, Fill::ARBITRARY, Fill::POWERS_OF_TWO, Fill::WIDE}));
    fill.set_seed(choices_.Below(1u << 16));
  }

  void Query(Values& q) {
    q.Clear();
    q.set_pattern(
        choices_.Pick({Values::ZERO, Values::ZERO, Values::NORMAL_RANGE,
                       Values::SMALL_INTEGERS, Values::OCTAVES}));
    if (q.pattern() != Values::ZERO) q.set_seed(choices_.Below(1u << 16));
  }

  // A code, a scale or a rope value of one row.
  void Patch1(Pool& pool) {
    if (pool.patches_size() >= kMaxEdits) {
      pool.mutable_patches()->DeleteSubrange(0, 1);
    }
    Patch& patch = *pool.add_patches();
    patch.set_slot(choices_.Below(slots_));
    switch (choices_.Below(3)) {
      case 0: {
        patch.set_at(choices_.Below(512));
        std::uint32_t code = choices_.Below(256);
        if ((code & 0x7f) == 0x7f) code ^= 1;  // no NaN
        patch.set_data(Bytes(code, 1));
        break;
      }
      case 1:
        patch.set_at(512 + 4 * choices_.Below(4));
        patch.set_data(Bytes(Float(choices_, -16, -4), 4));
        break;
      default:
        patch.set_at(528 + 2 * choices_.Below(64));
        patch.set_data(Bytes(Word(choices_, -4, 2), 2));
    }
  }

  void Lanes(Indices& indices) {
    indices.set_width(keys_ + (Coin() ? choices_.Below(130) : 0));
    indices.set_limit(1 + choices_.Below(slots_));
    indices.set_seed(choices_.Below(1u << 16));
    indices.set_place(static_cast<Indices::Place>(choices_.Below(4)));
  }

  std::uint32_t keys_;
  std::uint32_t slots_;  // of the pool
  Choices choices_;
};

}  // namespace

WorstCase SearchWorstCase(const TargetSet& targets, Executor& executor,
                          std::uint32_t keys, int steps, std::uint64_t seed) {
  WorstCase worst;
  Climber climber(keys, seed);
  std::int64_t open = 0;
  bool for_lse = false;
  Case at;
  double height = -1;
  int idle = kPatience;
  while (worst.measured < steps) {
    Case next = at;
    if (idle >= kPatience) {
      next = climber.Start();
      for_lse = !for_lse;
      height = -1;
      idle = 0;
    } else {
      climber.Step(next);
    }
    ++worst.measured;
    const absl::StatusOr<BoundRatio> ratio =
        MeasureBoundRatio(targets, executor, next);
    if (!ratio.ok()) {
      // A right kernel takes all of these: as bad as can be.
      worst.out = worst.lse = INFINITY;
      worst.out_case = worst.lse_case = next;
      return worst;
    }
    open += ratio->open;
    if (ratio->out > worst.out) {
      worst.out = ratio->out;
      worst.out_case = next;
    }
    if (ratio->lse > worst.lse) {
      worst.lse = ratio->lse;
      worst.lse_case = next;
    }
    const double reached = for_lse ? ratio->lse : ratio->out;
    idle = reached > height ? 0 : idle + 1;
    if (reached >= height) {
      height = reached;
      at = next;
    }
  }
  worst.open = static_cast<double>(open) /
               (513.0 * static_cast<double>(std::max(1, worst.measured)));
  return worst;
}

}  // namespace mlafuzz
