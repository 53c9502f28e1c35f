#include "fuzz/worker/semantic_counters.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mlafuzz {
namespace {

// The last ones are for calls and verdicts, the others for pairs of classes.
constexpr std::size_t kEndings = 512;
constexpr std::size_t kPairs = SemanticCounts::kCounters - kEndings;

__attribute__((section("__libfuzzer_extra_counters"))) std::uint8_t
    shown[SemanticCounts::kCounters];

// FNV-1a over small numbers: collisions cost a little guidance, no more.
std::uint32_t Hash(std::initializer_list<std::uint32_t> words) {
  std::uint32_t hash = 2166136261u;
  for (const std::uint32_t word : words) hash = (hash ^ word) * 16777619u;
  return hash ^ hash >> 15;
}

std::uint32_t HashOf(const std::string& text) {
  std::uint32_t hash = 2166136261u;
  for (const char c : text) {
    hash = (hash ^ static_cast<std::uint8_t>(c)) * 16777619u;
  }
  return hash;
}

}  // namespace

int BoundBucket(double of_bound) {
  // NaN too: it is in no range.
  if (!(of_bound > 0x1p-8)) return 0;
  if (of_bound > 1) return 9;
  return 9 + static_cast<int>(std::ceil(std::log2(of_bound))) - 1;
}

void SemanticCounts::Count(std::size_t at) {
  if (counts_[at] < 255) ++counts_[at];
}

void SemanticCounts::Add(const CaseResult& result,
                         const std::vector<int>& knobs) {
  for (std::size_t i = 0; i < knobs.size(); ++i) {
    for (std::size_t j = i; j < knobs.size(); ++j) {
      Count(Hash({static_cast<std::uint32_t>(knobs[i]),
                  static_cast<std::uint32_t>(knobs[j])}) %
            kPairs);
    }
  }
  const auto ending = [this](std::uint32_t hash) {
    Count(kPairs + hash % kEndings);
  };
  for (std::size_t i = 0; i < result.observation.steps.size(); ++i) {
    const StepImage& step = result.image.steps[i];
    if (step.is_patch) continue;
    const StepObservation& seen = result.observation.steps[i];
    ending(Hash(
        {1, static_cast<std::uint32_t>(step.kernel),
         static_cast<std::uint32_t>(seen.status),
         seen.status == CallStatus::kRefused ? HashOf(seen.message) : 0u}));
  }
  for (const Check& check : result.checks) {
    ending(Hash({2, static_cast<std::uint32_t>(check.kernel),
                 HashOf(check.property),
                 static_cast<std::uint32_t>(check.verdict)}));
    if (check.of_bound > 0) {
      ending(Hash({3, static_cast<std::uint32_t>(check.kernel),
                   static_cast<std::uint32_t>(BoundBucket(check.of_bound))}));
    }
  }
}

void SemanticCounts::Add(const SemanticCounts& other) {
  for (std::size_t i = 0; i < kCounters; ++i) {
    counts_[i] =
        static_cast<std::uint8_t>(std::min(255, counts_[i] + other.counts_[i]));
  }
}

void SemanticCounts::Show() const {
  for (std::size_t i = 0; i < kCounters; ++i) {
    shown[i] = static_cast<std::uint8_t>(std::min(255, shown[i] + counts_[i]));
  }
}

}  // namespace mlafuzz
