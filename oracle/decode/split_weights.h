#ifndef MLAFUZZ_ORACLE_DECODE_SPLIT_WEIGHTS_H_
#define MLAFUZZ_ORACLE_DECODE_SPLIT_WEIGHTS_H_

#include <cmath>
#include <cstdint>

#include "oracle/decode/arithmetic_rules.h"
#include "oracle/decode/fp64.h"
#include "oracle/decode/interval.h"
#include "oracle/decode/read_scale.h"
#include "oracle/decode/rounding.h"
#include "oracle/device/device_code.h"

// The softmax weights of one head over one split, on the host and on a GPU.
// Follows docs/bounds.md sections 4 (weights), 5 (sums over keys) and 8
// (unknown blocks and splits).
namespace mlafuzz::oracle {

// Keys [first, end) that one part of the work meets.
struct KeyRange {
  int first;
  int end;
};

// What the merge needs of one head's share of one split, in the frame of the
// split's last running maximum m *as the kernel computed it*: the error of m
// itself cancels between weights, denominator and LSE.
struct SplitSummary {
  enum class State {
    kUsable,
    kNan,       // some logit is NaN: so are all outputs and the LSE
    kAnything,  // the range of fp32 leaves nothing to be said
  };
  State state = State::kUsable;
  double m = 0;         // base 2
  Bounded denominator;  // sum of the weights
  double terms = 0;     // keys and rescales: operations on one sum
};

// The error of one weight exp2(x), x = t - m of its block.
struct WeightError {
  double free;     // relative, in the frame of the kernel's own m
  double rounded;  // relative, as the kernel holds it: m's error included
  double tiny;     // absolute
  bool overflows;  // exp2 may: nothing is said of the split
};

struct SoftmaxBlock {
  KeyRange keys;
  double m;        // running maximum, the block included
  double m_error;  // |the kernel's - m|
  double rescale;  // 2^(m - last m)
  double chain;    // relative error of the kernel's product of rescales
};

// One split of a head as it is met. Keys are numbered within the plan.
struct SplitKeys {
  const double* t;   // logits, base 2, by key
  const double* dt;  // their radii
  double sentinel;   // HeadScores::sentinel
  KeyRange keys;
  const KeyRange* blocks;
  int block_count;
  bool known;  // KeyPlan::known
  // The V side's scales, kMaxTiles a key; where the weights hold them.
  const ReadScale* scales;
  int tiles;        // with weights of their own
  bool no_rescale;  // ExpectOptions
};

// Where it goes: of `keys` entries each unless said otherwise, numbered within
// the split.
struct SplitRoom {
  double* weight;  // [tiles][stride], as the weights meet V
  double* radius;  // alike: every error of the sum proportional to |V|
  std::int64_t stride;
  char* alive;    // weights that are certainly not zero
  double* reach;  // [kMaxTiles], see SplitWeights
  double* p;
  WeightError* error;
  int* block_of;
  SoftmaxBlock* blocks;  // as many as the split has
};

// What the parts of the work have in common.
struct SplitState {
  SplitSummary summary;
  int blocks = 0;  // with keys
  int rescales = 0;
};

// In parts, in this order: Begin(); Weigh() of each key; Sum(); Codes() of each
// tile where the weights hold the scale; Widen() of each weight. Those of keys
// and of tiles may go on side by side. After each part that may end in another
// state than kUsable nothing else is to be done.
class SplitSimulation {
 public:
  MLAFUZZ_ORACLE_CODE SplitSimulation(const ArithmeticRules& rules,
                                      const SplitKeys& split,
                                      const SplitRoom& room, SplitState* state)
      : rules_(rules),
        errors_(rules),
        split_(split),
        room_(room),
        state_(*state) {}

  MLAFUZZ_ORACLE_CODE int count() const {
    return split_.keys.end - split_.keys.first;
  }

  MLAFUZZ_ORACLE_CODE void Begin() {
    state_ = SplitState();
    for (int t = 0; t < kMaxTiles; ++t) room_.reach[t] = 1;
    if (rules_.scale_in_weights()) {
      for (int t = 0; t < split_.tiles; ++t) {
        double reach = 0;
        for (int j = split_.keys.first; j < split_.keys.end; ++j) {
          reach = Max(reach, std::fabs(Scale(j, t).value));
        }
        room_.reach[t] = reach;
      }
    }
    state_.summary.state = Examine();
    if (usable()) PlaceBlocks();
  }

  // One key; also its weight, unless that holds a scale.
  MLAFUZZ_ORACLE_CODE void Weigh(int at) {
    const int j = split_.keys.first + at;
    const SoftmaxBlock& block = room_.blocks[room_.block_of[at]];
    const double x = split_.t[j] - block.m;
    const double p = oracle::Exp2(x);
    const WeightError e = ErrorOf(x, split_.dt[j], block);
    room_.p[at] = p;
    room_.error[at] = e;
    // A weight above the least normal bf16 and a rescale likewise survive.
    room_.alive[at] =
        p * (1 - e.rounded) - e.tiny <= 2 * kFp32MinNormal ||
                p * block.rescale * (1 - e.rounded) * (1 - block.chain) <=
                    2 * kFp32MinNormal
            ? 0
            : 1;
    if (rules_.scale_in_weights()) return;
    Bounded w = RoundWeight(p, e);
    if (rules_.weights == ArithmeticRules::Weights::kBf16) {
      // Held in the frame of the block's m, moved into the kernel's own.
      const double moved = Exp2Radius(block.m_error);
      w.radius = w.radius * (1 + moved) + w.value * moved;
    }
    Store(0, at, w, block);
  }

  // The denominator.
  MLAFUZZ_ORACLE_CODE void Sum() {
    double sum = 0, radius = 0;
    bool all_one = true;
    for (int at = 0; at < count(); ++at) {
      const SoftmaxBlock& block = room_.blocks[room_.block_of[at]];
      const double p = room_.p[at];
      const WeightError& e = room_.error[at];
      if (e.overflows) {
        state_.summary.state = SplitSummary::State::kAnything;
        return;
      }
      sum += p * block.rescale;
      radius += (p * e.free + e.tiny) * block.rescale * (1 + block.chain) +
                p * block.rescale * block.chain;
      // exp2 of anything but 0 may be 1, too, without being exact.
      if (split_.t[split_.keys.first + at] != block.m || e.free != 0 ||
          block.rescale != 1 || block.chain != 0) {
        all_one = false;
      }
    }
    // Whole numbers below 2^24 add up exactly.
    const double n = static_cast<double>(count()) + state_.rescales;
    if (!all_one) radius += sum * (1 + Gamma(n)) * Gamma(n);
    state_.summary.denominator = {sum, radius};
    if (!(sum - radius > kFp32MinNormal) || !(sum + radius < kFp32Max)) {
      state_.summary.state = SplitSummary::State::kAnything;
      return;
    }
    state_.summary.terms = static_cast<double>(count() + state_.rescales);
  }

  // The weights of one V tile in E4M3, block by block.
  MLAFUZZ_ORACLE_CODE void Codes(int tile) {
    for (int at = 0; at < count(); ++at) Radius(tile, at) = 0;
    for (int b = 0; b < state_.blocks; ++b) {
      if (!BlockCodes(room_.blocks[b], tile)) {
        // One unknown block makes the tile's sum unknown.
        for (int at = 0; at < count(); ++at) {
          Weight(tile, at) = 0;
          Radius(tile, at) = kInfinity;
        }
        return;
      }
    }
  }

  // Folds the errors of the sum over keys into the radius of each weight.
  MLAFUZZ_ORACLE_CODE double SumFactor() const {
    const double keys = static_cast<double>(count());
    const bool fp8 = rules_.scale_in_weights();
    // A product of fp32 weights rounds, and so may its tile scale; codes are
    // scaled once a block.
    const bool exact =
        rules_.weights == ArithmeticRules::Weights::kBf16 &&
        rules_.dequantised == ArithmeticRules::Dequantised::kBf16;
    // Every rescale rounds the sum once more; a step of codes twice.
    const double rounded = (exact ? 0 : 2) + state_.rescales +
                           (fp8 ? 2.0 * (state_.rescales + 1) : 0);
    const double factor = errors_.Sum(keys, keys, rounded, fp8);
    if (split_.known) return factor;
    // Unknown splits: at most one a key. The merge sums their outputs, each
    // weighted by exp2 of a difference of stored LSEs, and rounds each one.
    const double logs = oracle::Log2(1 + keys);
    const double lse = std::fabs(state_.summary.m) + logs;
    const double weight =
        Exp2Radius(Gamma(8) * lse + 2 * kLog2Error * (1 + logs)) +
        errors_.Exp2(0) + Gamma(4);
    const double partial =
        rules_.partials == ArithmeticRules::Partials::kFp32 ? kU32 : kUBf16;
    return Both(factor, Both(2 * weight + Gamma(keys) + kDivideError, partial));
  }
  MLAFUZZ_ORACLE_CODE void Widen(double factor, int tile, int at) {
    double& r = Radius(tile, at);
    r = r * (1 + factor) + std::fabs(Weight(tile, at)) * factor;
  }

  MLAFUZZ_ORACLE_CODE bool usable() const {
    return state_.summary.state == SplitSummary::State::kUsable;
  }

 private:
  // Below this argument exp2 leaves the normal range.
  static constexpr double kExp2Underflow = -126;

  MLAFUZZ_ORACLE_CODE double& Weight(int tile, int at) {
    return room_.weight[tile * room_.stride + at];
  }
  MLAFUZZ_ORACLE_CODE double& Radius(int tile, int at) {
    return room_.radius[tile * room_.stride + at];
  }
  MLAFUZZ_ORACLE_CODE const ReadScale& Scale(int j, int tile) const {
    return split_.scales[std::int64_t{j} * kMaxTiles + tile];
  }

  MLAFUZZ_ORACLE_CODE SplitSummary::State Examine() const {
    bool anything = false;
    for (int j = split_.keys.first; j < split_.keys.end; ++j) {
      const double t = split_.t[j], dt = split_.dt[j];
      if (std::isinf(dt)) anything = true;
      // Alone in a split of its own a key is the maximum, and exp2 of what
      // rounding leaves of t - m may vanish or overflow.
      if (!split_.known && 2 * dt >= -kExp2Underflow) anything = true;
      if (std::isnan(t) && !std::isinf(dt)) return SplitSummary::State::kNan;
      if (std::isinf(t)) anything = true;
    }
    return anything ? SplitSummary::State::kAnything
                    : SplitSummary::State::kUsable;
  }

  MLAFUZZ_ORACLE_CODE void PlaceBlocks() {
    double m = -kInfinity, upper = -kInfinity, lower = -kInfinity;
    int count = 0;
    for (int b = 0; b < split_.block_count; ++b) {
      const KeyRange keys = split_.blocks[b];
      if (keys.first == keys.end) continue;
      for (int j = keys.first; j < keys.end; ++j) {
        m = Max(m, split_.t[j]);
        upper = Max(upper, split_.t[j] + split_.dt[j]);
        lower = Max(lower, split_.t[j] - split_.dt[j]);
        room_.block_of[j - split_.keys.first] = count;
      }
      // Where the sentinel wins, all weights vanish [7].
      if (lower <= split_.sentinel) {
        state_.summary.state = SplitSummary::State::kAnything;
        return;
      }
      room_.blocks[count++] = {keys, m, Max(upper - m, m - lower), 1, 0};
    }
    state_.blocks = count;
    state_.summary.m = m;
    state_.rescales =
        split_.known ? count - 1 : split_.keys.end - split_.keys.first - 1;
    double chain = 0;
    for (int b = count - 1; b >= 0; --b) {
      SoftmaxBlock& block = room_.blocks[b];
      block.rescale = oracle::Exp2(block.m - m);
      block.chain = chain;
      if (b == 0) break;
      // From block b-1 on one more factor: its exp2, the rounding of its
      // argument, the product.
      const SoftmaxBlock& before = room_.blocks[b - 1];
      const double step = block.m - before.m;
      if (step != 0 || block.m_error != 0 || before.m_error != 0) {
        chain += errors_.Exp2(step) + Gamma(1) +
                 Exp2Radius(kU32 * (step + block.m_error + before.m_error));
        chain += chain * chain;
      }
    }
    if (!split_.known && state_.rescales > 0) {
      // At most one rescale a key; the steps of m add up to the spread of t.
      double least = m;
      for (int j = split_.keys.first; j < split_.keys.end; ++j) {
        least = Min(least, split_.t[j]);
      }
      // Factors below the normal range are as good as zero.
      const double spread = Min(m - least, 150.0);
      chain = state_.rescales * (errors_.Exp2(spread) + Gamma(1)) +
              Exp2Radius(kU32 * (spread + 2 * room_.blocks[0].m_error));
      if (!AllEqual()) room_.blocks[0].chain = chain + chain * chain;
    }
  }

  MLAFUZZ_ORACLE_CODE bool AllEqual() const {
    for (int j = split_.keys.first; j < split_.keys.end; ++j) {
      if (split_.t[j] != split_.t[split_.keys.first] || split_.dt[j] != 0) {
        return false;
      }
    }
    return true;
  }

  MLAFUZZ_ORACLE_CODE WeightError ErrorOf(double x, double dt,
                                          const SoftmaxBlock& block) const {
    WeightError e{0, 0, 0, false};
    // exp2(0) is 1, and 0 is exact where both operands are.
    if (x == 0 && dt == 0 && block.m_error == 0) return e;
    const double subtraction = kU32 * (std::fabs(x) + dt + block.m_error);
    const double slack = dt + block.m_error + subtraction;
    const double upper = x + slack;
    if (upper >= 127) {
      e.overflows = true;
      return e;
    }
    const double eps = errors_.Exp2(Max(x - slack, 2 * kExp2Underflow));
    e.free = Both(Exp2Radius(dt + subtraction), eps);
    e.rounded = Both(Exp2Radius(slack), eps);
    if (x - slack <= kExp2Underflow) e.tiny = 2 * errors_.Tiny();
    // Where that says less, between 0 and the largest it can be.
    const double most = oracle::Exp2(upper) * (1 + eps);
    if (!(oracle::Exp2(x) * e.rounded < most)) {
      e = {0, 0, most + 2 * errors_.Tiny(), false};
    }
    return e;
  }

  MLAFUZZ_ORACLE_CODE static double Both(double a, double b) {
    return a + b + a * b;
  }

  MLAFUZZ_ORACLE_CODE void Store(int tile, int at, const Bounded& w,
                                 const SoftmaxBlock& block) {
    // The sum of weights is rescaled whatever happens to the output.
    const double rescale = split_.no_rescale ? 1 : block.rescale;
    Weight(tile, at) = w.value * rescale;
    Radius(tile, at) = rescale * (w.radius * (1 + block.chain) +
                                  std::fabs(w.value) * block.chain);
  }

  // The weight as it meets V, in the frame of the block's m where it is
  // rounded, of the kernel's own m where it is not.
  MLAFUZZ_ORACLE_CODE Bounded RoundWeight(double p,
                                          const WeightError& e) const {
    if (rules_.weights == ArithmeticRules::Weights::kFp32) {
      return {p, p * e.free + e.tiny};
    }
    if (!split_.known) {
      // Rounded in some frame; the least bf16 is 2^-133.
      return {p, p * Both(e.free, kUBf16) + e.tiny + 0x1p-134 +
                     (errors_.kept() ? 0 : kFp32MinNormal)};
    }
    const double value = RoundBf16(p);
    const double low = RoundBf16(Max(0.0, p * (1 - e.rounded) - e.tiny));
    const double high = RoundBf16(p * (1 + e.rounded) + e.tiny);
    double radius = Max(high - value, value - low);
    if (!errors_.kept() && low < kFp32MinNormal) {
      radius = Max(radius, Min(value, kFp32MinNormal) + radius);
    }
    return {value, radius};
  }

  // One V tile's weights of a block in E4M3. False: its scales say nothing.
  MLAFUZZ_ORACLE_CODE bool BlockCodes(const SoftmaxBlock& block, int tile) {
    const int base = split_.keys.first;
    double amax = 0, upper = 0, lower = 0;
    for (int j = block.keys.first; j < block.keys.end; ++j) {
      const ReadScale& scale = Scale(j, tile);
      if (scale.unknown || !std::isfinite(scale.value)) return false;
      const WeightError& e = room_.error[j - base];
      const double w = std::fabs(room_.p[j - base] * scale.value);
      amax = Max(amax, w);
      upper = Max(upper, w * (1 + e.free) + e.tiny);
      lower = Max(lower, w * (1 - e.free) - e.tiny);
    }
    const double floor = 1e-10;
    const double step = Max(amax, floor) / 448;
    // Error of the step, in the kernel's frame; the floor stands in the block's
    // own. Two roundings: the weight times the scale, the division.
    double step_error = Gamma(2);
    if (amax > 0) {
      step_error += Max(upper / amax - 1, 1 - lower / amax);
    }
    if (lower <= floor * (1 + Exp2Radius(block.m_error))) {
      step_error += Exp2Radius(block.m_error);
      if (amax < floor) step_error = Exp2Radius(block.m_error) + Gamma(2);
    }
    for (int j = block.keys.first; j < block.keys.end; ++j) {
      const int at = j - base;
      const float scale = Scale(j, tile).value;
      const WeightError& e = room_.error[at];
      const double w = room_.p[at] * scale;
      const double tiny = (e.tiny * std::fabs(scale) + errors_.Tiny()) / step;
      const double x = w / step;
      // Relative error of x: the weight's and the step's, product and quotient.
      const double relative =
          (e.free + step_error + Gamma(3)) * (1 + 4 * step_error);
      const double spread = std::fabs(x) * relative + tiny;
      Bounded code =
          split_.known ? Code(x, spread) : Coarse(x, spread, amax, step);
      code.radius = code.radius * (1 + step_error) +
                    std::fabs(code.value) * (step_error + Gamma(2));
      Store(tile, at, {code.value * step, code.radius * step}, block);
    }
    return true;
  }

  MLAFUZZ_ORACLE_CODE bool two_pass() const {
    return rules_.weights == ArithmeticRules::Weights::kE4m3TwoPass;
  }

  // E4M3 of x known to within `spread`.
  MLAFUZZ_ORACLE_CODE Bounded Code(double x, double spread) const {
    const double first = RoundE4m3(x);
    const bool settled = RoundE4m3(x - spread) == RoundE4m3(x + spread);
    if (!two_pass()) {
      return {first, settled ? 0
                             : Max(RoundE4m3(x + spread) - first,
                                   first - RoundE4m3(x - spread))};
    }
    const double rest = x - first;
    const double value = first + RoundE4m3(rest);
    if (settled && RoundE4m3(rest - spread) == RoundE4m3(rest + spread)) {
      return {value, 0};
    }
    // Either choice of the first leaves a rest of half a step, which the second
    // renders to 2^-4 of itself or half a subnormal step.
    const double size = std::fabs(x) + spread;
    const double most = kUE4m3 * size + 0x1p-10 + spread + Max(0.0, size - 448);
    return {value, std::fabs(value - x) + spread + Max(kUE4m3 * most, 0x1p-10)};
  }

  // E4M3 of x by some step that is not known: relative to the largest weight of
  // any block, whose step is at most that of the largest of all.
  MLAFUZZ_ORACLE_CODE Bounded Coarse(double x, double spread, double amax,
                                     double step) const {
    const double least = 0x1p-10 * Max(amax, 1e-10) / (448 * step);
    const double size = std::fabs(x) + spread;
    const double first = kUE4m3 * size + least;
    double radius = two_pass() ? kUE4m3 * first + least : first;
    if (rules_.weights == ArithmeticRules::Weights::kUnknown) {
      // V may be rounded to bf16 instead of the weight to E4M3, or both.
      radius = Both(1, kUBf16) * radius + kUBf16 * size;
    }
    radius += spread;
    return {x, radius};
  }

  const ArithmeticRules& rules_;
  const ErrorModel errors_;
  const SplitKeys& split_;
  const SplitRoom& room_;
  SplitState& state_;
};

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DECODE_SPLIT_WEIGHTS_H_
