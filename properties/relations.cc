#include "properties/relations.h"

#include <algorithm>

#include "properties/relations/batch_single.h"
#include "properties/relations/candidate_permutation.h"
#include "properties/relations/convexity.h"
#include "properties/relations/declared_capacity.h"
#include "properties/relations/decode_masks.h"
#include "properties/relations/decode_zero_rope.h"
#include "properties/relations/duplicates.h"
#include "properties/relations/exact_lattice.h"
#include "properties/relations/fused.h"
#include "properties/relations/graph_replay.h"
#include "properties/relations/head_shards.h"
#include "properties/relations/mask_placement.h"
#include "properties/relations/page_relabelling.h"
#include "properties/relations/page_zero_poison.h"
#include "properties/relations/query_length.h"
#include "properties/relations/round_trip.h"
#include "properties/relations/same_run.h"
#include "properties/relations/split_count.h"
#include "properties/relations/step_relation.h"
#include "properties/relations/tile_algebra.h"
#include "properties/relations/two_poison.h"
#include "properties/relations/wider_buffer.h"
#include "properties/relations/zero_rope.h"

namespace mlafuzz {
namespace {

// A name as a template argument.
template <std::size_t n>
struct Name {
  constexpr Name(const char (&text)[n]) {
    for (std::size_t i = 0; i < n; ++i) value[i] = text[i];
  }
  char value[n];
};

template <Name name, typename R, Kernel kernel>
Relation Make() {
  static constexpr Name kName = name;
  return {kName.value, kernel, requires {R::kOnDevices;
}
, requires { R::kOnlyAsked; }, &AppliesToCase<R, kernel>,
    [](const TargetSet& targets, Executor& executor, const Contracts& contracts,
       const CaseImage& image, const Observation& plain, std::uint64_t seed,
       std::vector<Check>* checks) {
      return RunOnCase<R, kernel>(kName.value, targets, executor, contracts,
                                  image, plain, seed, checks);
    }
};  // namespace
}  // namespace mlafuzz

template <Name name, typename R>
void AddForAll(std::vector<Relation>& all) {
  all.push_back(Make<name, R, Kernel::kWriter>());
  all.push_back(Make<name, R, Kernel::kGather>());
  all.push_back(Make<name, R, Kernel::kConvert>());
  all.push_back(Make<name, R, Kernel::kDecode>());
}

}  // namespace

const std::vector<Relation>& AllRelations() {
  static const std::vector<Relation>* const kAll = [] {
    auto* all = new std::vector<Relation>();
    AddForAll<"two-poison", TwoPoison>(*all);
    AddForAll<"run-twice", RunTwice>(*all);
    AddForAll<"schedule", OtherSchedule>(*all);
    AddForAll<"page-relabelling", PageRelabelling>(*all);
    AddForAll<"batch-single", BatchSingle>(*all);
    all->push_back(
        Make<"tile-permutation", TilePermutation, Kernel::kWriter>());
    all->push_back(Make<"negation", Negation, Kernel::kWriter>());
    all->push_back(
        Make<"power-of-two-scaling", PowerOfTwoScaling, Kernel::kWriter>());
    all->push_back(Make<"zero-rope", ZeroRope, Kernel::kWriter>());
    all->push_back(Make<"round-trip", RoundTrip, Kernel::kWriter>());
    all->push_back(Make<"nope-tail-through-gather", NopeTailThroughGather,
                        Kernel::kWriter>());
    all->push_back(Make<"trailing-mask", TrailingMask, Kernel::kDecode>());
    all->push_back(
        Make<"sink-minus-infinity", SinkAtMinusInfinity, Kernel::kDecode>());
    all->push_back(
        Make<"candidate-permutation", CandidatePermutation, Kernel::kDecode>());
    all->push_back(Make<"duplicates", Duplicates, Kernel::kDecode>());
    all->push_back(Make<"mask-placement", MaskPlacement, Kernel::kDecode>());
    all->push_back(Make<"all-masked", AllMasked, Kernel::kDecode>());
    all->push_back(Make<"wider-buffer", WiderBuffer, Kernel::kDecode>());
    all->push_back(
        Make<"declared-capacity", DeclaredCapacity, Kernel::kDecode>());
    all->push_back(Make<"split-count", SplitCount, Kernel::kDecode>());
    all->push_back(Make<"decode-zero-rope", DecodeZeroRope, Kernel::kDecode>());
    all->push_back(Make<"head-shards", HeadShards, Kernel::kDecode>());
    all->push_back(Make<"query-length", QueryLength, Kernel::kDecode>());
    all->push_back(Make<"convexity", Convexity, Kernel::kDecode>());
    all->push_back(Make<"exact-lattice", ExactLattice, Kernel::kDecode>());
    all->push_back(Make<"page-zero-poison", PageZeroPoison, Kernel::kDecode>());
    // Last, so that those above draw as they do without a GPU.
    AddForAll<"graph-replay", GraphReplay>(*all);
    AddForAll<"repeat", Repeat>(*all);
    AddForAll<"fused", Fused>(*all);
    return all;
  }();
  return *kAll;
}

bool IsRelation(absl::string_view property) {
  const std::vector<Relation>& all = AllRelations();
  return std::any_of(all.begin(), all.end(),
                     [&](const Relation& r) { return property == r.name; });
}

}  // namespace mlafuzz
