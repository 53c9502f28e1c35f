#ifndef MLAFUZZ_ORACLE_DECODE_SOFTMAX_H_
#define MLAFUZZ_ORACLE_DECODE_SOFTMAX_H_

#include <array>
#include <cstdint>
#include <vector>

#include "corpus/contract.pb.h"
#include "oracle/decode/dequant.h"
#include "oracle/decode/interval.h"
#include "oracle/decode/keys.h"
#include "oracle/decode/scores.h"
#include "oracle/decode/split_weights.h"

namespace mlafuzz::oracle {

// Whether V enters the product as codes, its scale as part of the weight.
bool ScaleInWeights(const Arithmetic& arithmetic);

// The weights of one head over the keys of one split.
struct SplitWeights : SplitSummary {
  // Weights as they meet V, a value and a radius a key of the split; one tile,
  // or one for each V tile where ScaleInWeights(). The radius holds every error
  // of the product sum that is proportional to |V|.
  const double* weight(int tile) const { return weights.data() + tile * keys; }
  const double* radius(int tile) const { return radii.data() + tile * keys; }
  std::int64_t keys = 0;
  std::vector<double> weights;  // [tiles][keys]
  std::vector<double> radii;
  // The largest magnitude by which V's own values are multiplied, whatever the
  // running maximum is at the time: 1, or that of the tile's scales.
  std::array<double, kMaxTiles> reach;
  // Weights that are certainly not zero, a flag a key.
  std::vector<char> alive;

  // Used on the way.
  std::vector<double> p;
  std::vector<WeightError> errors;
  std::vector<int> block_of;
  std::vector<SoftmaxBlock> blocks;
};

// `tiles`: of a row. `v_scales`: the V side's scales a key of the *plan*; used
// where ScaleInWeights(). Reuses the memory of `out`.
void SimulateSplit(const Arithmetic& arithmetic, const KeyPlan& plan,
                   const KeyPlan::Split& split, const HeadScores& scores,
                   int tiles, const std::vector<TileScales>& v_scales,
                   bool no_rescale, SplitWeights* out);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DECODE_SOFTMAX_H_
