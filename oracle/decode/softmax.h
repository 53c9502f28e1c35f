#ifndef MLAFUZZ_ORACLE_DECODE_SOFTMAX_H_
#define MLAFUZZ_ORACLE_DECODE_SOFTMAX_H_

#include <array>
#include <vector>

#include "corpus/contract.pb.h"
#include "oracle/decode/dequant.h"
#include "oracle/decode/interval.h"
#include "oracle/decode/keys.h"
#include "oracle/decode/scores.h"

namespace mlafuzz::oracle {

// Whether V enters the product as codes, its scale as part of the weight.
bool ScaleInWeights(const Arithmetic& arithmetic);

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

// The weights of one head over the keys of one split.
struct SplitWeights : SplitSummary {
  // Weights as they meet V, a value and a radius a key of the split; one entry,
  // or one for each V tile where ScaleInWeights(). The radius holds every error
  // of the product sum that is proportional to |V|.
  struct Tile {
    std::vector<double> weight;
    std::vector<double> radius;
  };
  std::array<Tile, kMaxTiles> tiles;
  // The largest magnitude by which V's own values are multiplied, whatever the
  // running maximum is at the time: 1, or that of the tile's scales.
  std::array<double, kMaxTiles> reach;
  // Weights that are certainly not zero, a flag a key.
  std::vector<char> alive;
};

// `tiles`: of a row. `v_scales`: the V side's scales a key of the *plan*; used
// where ScaleInWeights(). Reuses the memory of `out`.
void SimulateSplit(const Arithmetic& arithmetic, const KeyPlan& plan,
                   const KeyPlan::Split& split, const HeadScores& scores,
                   int tiles, const std::vector<TileScales>& v_scales,
                   bool no_rescale, SplitWeights* out);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DECODE_SOFTMAX_H_
