#include "oracle/decode/softmax.h"

#include "oracle/decode/contract_rules.h"

namespace mlafuzz::oracle {

bool ScaleInWeights(const Arithmetic& arithmetic) {
  return RulesOf(arithmetic).scale_in_weights();
}

void SimulateSplit(const Arithmetic& arithmetic, const KeyPlan& plan,
                   const KeyPlan::Split& split, const HeadScores& scores,
                   int tiles, const std::vector<TileScales>& v_scales,
                   bool no_rescale, SplitWeights* out) {
  const ArithmeticRules rules = RulesOf(arithmetic);
  static_assert(sizeof(TileScales) == kMaxTiles * sizeof(ReadScale));
  const SplitKeys keys = {
      .t = scores.t.data(),
      .dt = scores.radius.data(),
      .sentinel = scores.sentinel,
      .keys = split.keys,
      .blocks = split.blocks.data(),
      .block_count = static_cast<int>(split.blocks.size()),
      .known = plan.known,
      .scales = v_scales.empty() ? nullptr : v_scales.front().data(),
      .tiles = rules.scale_in_weights() ? tiles : 1,
      .no_rescale = no_rescale,
  };
  const std::size_t count =
      static_cast<std::size_t>(split.keys.end - split.keys.first);
  const std::size_t entries = count * static_cast<std::size_t>(keys.tiles);
  out->keys = static_cast<std::int64_t>(count);
  out->weights.assign(entries, 0);
  out->radii.assign(entries, 0);
  out->alive.assign(count, 1);
  out->p.resize(count);
  out->errors.resize(count);
  out->block_of.resize(count);
  out->blocks.resize(split.blocks.size());
  const SplitRoom room = {
      .weight = out->weights.data(),
      .radius = out->radii.data(),
      .stride = out->keys,
      .alive = out->alive.data(),
      .reach = out->reach.data(),
      .p = out->p.data(),
      .error = out->errors.data(),
      .block_of = out->block_of.data(),
      .blocks = out->blocks.data(),
  };
  SplitState state;
  SplitSimulation simulation(rules, keys, room, &state);
  simulation.Begin();
  if (simulation.usable()) {
    for (int at = 0; at < simulation.count(); ++at) simulation.Weigh(at);
    simulation.Sum();
  }
  if (simulation.usable()) {
    for (int t = 0; rules.scale_in_weights() && t < keys.tiles; ++t) {
      simulation.Codes(t);
    }
    const double factor = simulation.SumFactor();
    for (int t = 0; t < keys.tiles; ++t) {
      for (int at = 0; at < simulation.count(); ++at) {
        simulation.Widen(factor, t, at);
      }
    }
  }
  static_cast<SplitSummary&>(*out) = state.summary;
}

}  // namespace mlafuzz::oracle
