#include "oracle/decode/softmax.h"

#include <algorithm>
#include <cmath>

#include "oracle/decode/rounding.h"

// Follows docs/bounds.md sections 4 (weights), 5 (sums over keys) and 8
// (unknown blocks and splits).
namespace mlafuzz::oracle {
namespace {

// Below this argument exp2 leaves the normal range.
constexpr double kExp2Underflow = -126;

// The error of one weight exp2(x), x = t - m of its block.
struct WeightError {
  double free;     // relative, in the frame of the kernel's own m
  double rounded;  // relative, as the kernel holds it: m's error included
  double tiny;     // absolute
};

class Simulation {
 public:
  Simulation(const Arithmetic& arithmetic, const KeyPlan& plan,
             const KeyPlan::Split& split, const HeadScores& scores, int tiles,
             const std::vector<TileScales>& v_scales, bool no_rescale,
             SplitWeights* out)
      : arithmetic_(arithmetic),
        errors_(arithmetic),
        plan_(plan),
        split_(split),
        t_(scores.t),
        dt_(scores.radius),
        sentinel_(scores.sentinel),
        scale_in_weights_(ScaleInWeights(arithmetic)),
        tiles_(scale_in_weights_ ? tiles : 1),
        v_scales_(v_scales),
        no_rescale_(no_rescale),
        out_(*out) {}

  void Run() {
    const std::size_t count =
        static_cast<std::size_t>(split_.keys.end - split_.keys.first);
    for (int i = 0; i < tiles_; ++i) {
      out_.tiles[i].weight.assign(count, 0);
      out_.tiles[i].radius.assign(count, 0);
    }
    out_.alive.assign(count, 1);
    out_.reach.fill(1);
    if (scale_in_weights_) {
      for (int t = 0; t < tiles_; ++t) {
        double reach = 0;
        for (int j = split_.keys.first; j < split_.keys.end; ++j) {
          reach = std::max<double>(reach, std::fabs(v_scales_[j][t].value));
        }
        out_.reach[t] = reach;
      }
    }
    out_.state = Examine();
    if (out_.state != SplitSummary::State::kUsable) return;
    PlaceBlocks();
    if (out_.state != SplitSummary::State::kUsable) return;
    double sum = 0, radius = 0;
    bool all_one = true;
    for (Block& block : blocks_) {
      if (out_.state != SplitSummary::State::kUsable) return;
      SimulateBlock(block, &sum, &radius, &all_one);
    }
    // The denominator's own sum. Whole numbers below 2^24 add up exactly.
    const double n = static_cast<double>(count + rescales_);
    if (!all_one) radius += sum * (1 + Gamma(n)) * Gamma(n);
    out_.denominator = {sum, radius};
    if (!(sum - radius > kFp32MinNormal) || !(sum + radius < kFp32Max)) {
      out_.state = SplitSummary::State::kAnything;
      return;
    }
    AddSumErrors(static_cast<double>(count));
  }

 private:
  struct Block {
    KeyRange keys;
    double m;        // running maximum, the block included
    double m_error;  // |the kernel's - m|
    double rescale;  // 2^(m - last m)
    double chain;    // relative error of the kernel's product of rescales
  };

  SplitSummary::State Examine() const {
    bool anything = false;
    for (int j = split_.keys.first; j < split_.keys.end; ++j) {
      if (std::isinf(dt_[j])) anything = true;
      // Alone in a split of its own a key is the maximum, and exp2 of what
      // rounding leaves of t - m may vanish or overflow.
      if (!plan_.known && 2 * dt_[j] >= -kExp2Underflow) anything = true;
      if (std::isnan(t_[j]) && !std::isinf(dt_[j])) {
        return SplitSummary::State::kNan;
      }
      if (std::isinf(t_[j])) anything = true;
    }
    return anything ? SplitSummary::State::kAnything
                    : SplitSummary::State::kUsable;
  }

  void PlaceBlocks() {
    blocks_.clear();
    double m = -kInfinity, upper = -kInfinity, lower = -kInfinity;
    for (const KeyRange& keys : split_.blocks) {
      if (keys.first == keys.end) continue;
      for (int j = keys.first; j < keys.end; ++j) {
        m = std::max(m, t_[j]);
        upper = std::max(upper, t_[j] + dt_[j]);
        lower = std::max(lower, t_[j] - dt_[j]);
      }
      // Where the sentinel wins, all weights vanish [7].
      if (lower <= sentinel_) {
        out_.state = SplitSummary::State::kAnything;
        return;
      }
      blocks_.push_back({keys, m, std::max(upper - m, m - lower), 1, 0});
    }
    out_.m = m;
    rescales_ = plan_.known ? static_cast<int>(blocks_.size()) - 1
                            : split_.keys.end - split_.keys.first - 1;
    double chain = 0;
    for (int b = static_cast<int>(blocks_.size()) - 1; b >= 0; --b) {
      Block& block = blocks_[b];
      block.rescale = std::exp2(block.m - m);
      block.chain = chain;
      if (b == 0) break;
      // From block b-1 on one more factor: its exp2, the rounding of its
      // argument, the product.
      const double step = block.m - blocks_[b - 1].m;
      const bool may_move =
          step != 0 || block.m_error != 0 || blocks_[b - 1].m_error != 0;
      if (may_move) {
        chain +=
            errors_.Exp2(step) + Gamma(1) +
            Exp2Radius(kU32 * (step + block.m_error + blocks_[b - 1].m_error));
        chain += chain * chain;
      }
    }
    if (!plan_.known && rescales_ > 0) {
      // At most one rescale a key; the steps of m add up to the spread of t.
      double least = m;
      for (int j = split_.keys.first; j < split_.keys.end; ++j) {
        least = std::min(least, t_[j]);
      }
      // Factors below the normal range are as good as zero.
      const double spread = std::min(m - least, 150.0);
      chain = rescales_ * (errors_.Exp2(spread) + Gamma(1)) +
              Exp2Radius(kU32 * (spread + 2 * blocks_[0].m_error));
      if (!AllEqual()) blocks_[0].chain = chain + chain * chain;
    }
  }

  bool AllEqual() const {
    for (int j = split_.keys.first; j < split_.keys.end; ++j) {
      if (t_[j] != t_[split_.keys.first] || dt_[j] != 0) return false;
    }
    return true;
  }

  WeightError ErrorOf(double x, double dt, const Block& block) {
    WeightError e{0, 0, 0};
    // exp2(0) is 1, and 0 is exact where both operands are.
    if (x == 0 && dt == 0 && block.m_error == 0) return e;
    const double subtraction = kU32 * (std::fabs(x) + dt + block.m_error);
    const double slack = dt + block.m_error + subtraction;
    const double upper = x + slack;
    if (upper >= 127) {
      out_.state = SplitSummary::State::kAnything;
      return e;
    }
    const double eps = errors_.Exp2(std::max(x - slack, 2 * kExp2Underflow));
    e.free = Widen(Exp2Radius(dt + subtraction), eps);
    e.rounded = Widen(Exp2Radius(slack), eps);
    if (x - slack <= kExp2Underflow) e.tiny = 2 * errors_.Tiny();
    // Where that says less, between 0 and the largest it can be.
    const double most = std::exp2(upper) * (1 + eps);
    if (!(std::exp2(x) * e.rounded < most)) {
      e = {0, 0, most + 2 * errors_.Tiny()};
    }
    return e;
  }

  static double Widen(double a, double b) { return a + b + a * b; }

  void SimulateBlock(const Block& block, double* sum, double* radius,
                     bool* all_one) {
    const double scale = block.rescale;
    for (int j = block.keys.first; j < block.keys.end; ++j) {
      const double x = t_[j] - block.m;
      const double p = std::exp2(x);
      const WeightError e = ErrorOf(x, dt_[j], block);
      const std::size_t at = static_cast<std::size_t>(j - split_.keys.first);
      *sum += p * scale;
      *radius += (p * e.free + e.tiny) * scale * (1 + block.chain) +
                 p * scale * block.chain;
      if (x != 0 || e.free != 0 || scale != 1 || block.chain != 0) {
        *all_one = false;
      }
      // A weight above the least normal bf16 and a rescale likewise survive.
      if (p * (1 - e.rounded) - e.tiny <= 2 * kFp32MinNormal ||
          p * scale * (1 - e.rounded) * (1 - block.chain) <=
              2 * kFp32MinNormal) {
        out_.alive[at] = 0;
      }
      if (!scale_in_weights_) {
        Bounded w = RoundWeight(p, e);
        if (arithmetic_.weights() == Arithmetic::WEIGHTS_BF16) {
          // Held in the frame of the block's m, moved into the kernel's own.
          const double moved = Exp2Radius(block.m_error);
          w.radius = w.radius * (1 + moved) + w.value * moved;
        }
        Store(0, at, w, block);
      } else {
        p_.resize(split_.keys.end - split_.keys.first);
        e_.resize(p_.size());
        p_[at] = p;
        e_[at] = e;
      }
    }
    if (!scale_in_weights_) return;
    for (int tile = 0; tile < tiles_; ++tile) SimulateE4m3(block, tile);
  }

  void Store(int tile, std::size_t at, const Bounded& w, const Block& block) {
    // The sum of weights is rescaled whatever happens to the output.
    const double rescale = no_rescale_ ? 1 : block.rescale;
    out_.tiles[tile].weight[at] = w.value * rescale;
    out_.tiles[tile].radius[at] = rescale * (w.radius * (1 + block.chain) +
                                             std::fabs(w.value) * block.chain);
  }

  // The weight as it meets V, in the frame of the block's m where it is
  // rounded, of the kernel's own m where it is not.
  Bounded RoundWeight(double p, const WeightError& e) const {
    if (arithmetic_.weights() == Arithmetic::WEIGHTS_FP32) {
      return {p, p * e.free + e.tiny};
    }
    if (!plan_.known) {
      // Rounded in some frame; the least bf16 is 2^-133.
      return {p, p * Widen(e.free, kUBf16) + e.tiny + 0x1p-134 +
                     (errors_.kept() ? 0 : kFp32MinNormal)};
    }
    const double value = RoundBf16(p);
    const double low = RoundBf16(std::max(0.0, p * (1 - e.rounded) - e.tiny));
    const double high = RoundBf16(p * (1 + e.rounded) + e.tiny);
    double radius = std::max(high - value, value - low);
    if (!errors_.kept() && low < kFp32MinNormal) {
      radius = std::max(radius, std::min(value, kFp32MinNormal) + radius);
    }
    return {value, radius};
  }

  // One V tile's weights of a block in E4M3.
  void SimulateE4m3(const Block& block, int tile) {
    const std::size_t base = static_cast<std::size_t>(split_.keys.first);
    double amax = 0, upper = 0, lower = 0;
    for (int j = block.keys.first; j < block.keys.end; ++j) {
      const std::size_t at = j - base;
      const ReadScale& scale = v_scales_[j][tile];
      if (scale.unknown || !std::isfinite(scale.value)) {
        out_.tiles[tile].radius.assign(out_.tiles[tile].radius.size(),
                                       kInfinity);
        return;
      }
      const double w = std::fabs(p_[at] * scale.value);
      amax = std::max(amax, w);
      upper = std::max(upper, w * (1 + e_[at].free) + e_[at].tiny);
      lower = std::max(lower, w * (1 - e_[at].free) - e_[at].tiny);
    }
    if (std::isinf(
            out_.tiles[tile].radius.empty() ? 0 : out_.tiles[tile].radius[0])) {
      return;  // an earlier block is unknown, so the tile is
    }
    const double floor = 1e-10;
    const double step = std::max(amax, floor) / 448;
    // Error of the step, in the kernel's frame; the floor stands in the block's
    // own. Two roundings: the weight times the scale, the division.
    double step_error = Gamma(2);
    if (amax > 0) {
      step_error += std::max(upper / amax - 1, 1 - lower / amax);
    }
    if (lower <= floor * (1 + Exp2Radius(block.m_error))) {
      step_error += Exp2Radius(block.m_error);
      if (amax < floor) step_error = Exp2Radius(block.m_error) + Gamma(2);
    }
    for (int j = block.keys.first; j < block.keys.end; ++j) {
      const std::size_t at = j - base;
      const double w = p_[at] * v_scales_[j][tile].value;
      const double tiny =
          (e_[at].tiny * std::fabs(v_scales_[j][tile].value) + errors_.Tiny()) /
          step;
      const double x = w / step;
      // Relative error of x: the weight's and the step's, product and quotient.
      const double relative =
          (e_[at].free + step_error + Gamma(3)) * (1 + 4 * step_error);
      const double spread = std::fabs(x) * relative + tiny;
      Bounded code =
          plan_.known ? Codes(x, spread) : Coarse(x, spread, amax, step);
      code.radius = code.radius * (1 + step_error) +
                    std::fabs(code.value) * (step_error + Gamma(2));
      Store(tile, at, {code.value * step, code.radius * step}, block);
    }
  }

  bool two_pass() const {
    return arithmetic_.weights() == Arithmetic::WEIGHTS_E4M3_TWO_PASS;
  }

  // E4M3 of x known to within `spread`.
  Bounded Codes(double x, double spread) const {
    const double first = RoundE4m3(x);
    const bool settled = RoundE4m3(x - spread) == RoundE4m3(x + spread);
    if (!two_pass()) {
      return {first, settled ? 0
                             : std::max(RoundE4m3(x + spread) - first,
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
    const double most =
        kUE4m3 * size + 0x1p-10 + spread + std::max(0.0, size - 448);
    return {value,
            std::fabs(value - x) + spread + std::max(kUE4m3 * most, 0x1p-10)};
  }

  // E4M3 of x by some step that is not known: relative to the largest weight of
  // any block, whose step is at most that of the largest of all.
  Bounded Coarse(double x, double spread, double amax, double step) const {
    const double least = 0x1p-10 * std::max(amax, 1e-10) / (448 * step);
    const double size = std::fabs(x) + spread;
    const double first = kUE4m3 * size + least;
    double radius = two_pass() ? kUE4m3 * first + least : first;
    if (arithmetic_.weights() == Arithmetic::WEIGHTS_UNKNOWN) {
      // V may be rounded to bf16 instead of the weight to E4M3, or both.
      radius = Widen(1, kUBf16) * radius + kUBf16 * size;
    }
    radius += spread;
    return {x, radius};
  }

  // Folds the errors of the sum over keys into the radius of each weight.
  void AddSumErrors(double count) {
    const bool fp8 = scale_in_weights_;
    double factor;
    // A product of fp32 weights rounds, and so may its tile scale; codes are
    // scaled once a block.
    const bool exact =
        arithmetic_.weights() == Arithmetic::WEIGHTS_BF16 &&
        arithmetic_.dequantised() == Arithmetic::DEQUANTISED_BF16;
    // Every rescale rounds the sum once more; a step of codes twice.
    const double rounded =
        (exact ? 0 : 2) + rescales_ + (fp8 ? 2.0 * (rescales_ + 1) : 0);
    factor = errors_.Sum(count, count, rounded, fp8);
    if (!plan_.known) {
      // Unknown splits: at most one a key. The merge sums their outputs, each
      // weighted by exp2 of a difference of stored LSEs, and rounds each one.
      const double lse = std::fabs(out_.m) + std::log2(1 + count);
      const double weight =
          Exp2Radius(Gamma(8) * lse +
                     2 * kLog2Error * (1 + std::log2(1 + count))) +
          errors_.Exp2(0) + Gamma(4);
      const double partial =
          arithmetic_.partials() == Arithmetic::PARTIALS_FP32 ? kU32 : kUBf16;
      factor = Widen(factor,
                     Widen(2 * weight + Gamma(count) + kDivideError, partial));
    }
    for (int t = 0; t < tiles_; ++t) {
      for (std::size_t j = 0; j < out_.tiles[t].weight.size(); ++j) {
        double& r = out_.tiles[t].radius[j];
        r = r * (1 + factor) + std::fabs(out_.tiles[t].weight[j]) * factor;
      }
    }
    out_.terms = count + rescales_;
  }

  const Arithmetic& arithmetic_;
  const ErrorModel errors_;
  const KeyPlan& plan_;
  const KeyPlan::Split& split_;
  const std::vector<double>& t_;
  const std::vector<double>& dt_;
  const double sentinel_;
  const bool scale_in_weights_;
  const int tiles_;  // each with weights of its own
  const std::vector<TileScales>& v_scales_;
  const bool no_rescale_;
  SplitWeights& out_;
  std::vector<Block> blocks_;
  std::vector<double> p_;
  std::vector<WeightError> e_;
  int rescales_ = 0;
};

}  // namespace

bool ScaleInWeights(const Arithmetic& arithmetic) {
  switch (arithmetic.weights()) {
    case Arithmetic::WEIGHTS_FP32:
    case Arithmetic::WEIGHTS_BF16:
      return false;
    default:
      return true;
  }
}

void SimulateSplit(const Arithmetic& arithmetic, const KeyPlan& plan,
                   const KeyPlan::Split& split, const HeadScores& scores,
                   int tiles, const std::vector<TileScales>& v_scales,
                   bool no_rescale, SplitWeights* out) {
  Simulation(arithmetic, plan, split, scores, tiles, v_scales, no_rescale, out)
      .Run();
}

}  // namespace mlafuzz::oracle
