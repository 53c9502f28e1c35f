#ifndef MLAFUZZ_CORPUS_PATCHES_H_
#define MLAFUZZ_CORPUS_PATCHES_H_

#include <cstdint>
#include <map>
#include <vector>

#include "corpus/case.pb.h"

namespace mlafuzz {

// For each patch of a list that is laid down in order: its own number if it
// holds no byte, the number of a later one that lies over all of its bytes, or
// -1: the patch has an effect. Patches of other slots are not looked at, nor
// several later ones together.
inline std::vector<int> WhatHidesPatches(
    const google::protobuf::RepeatedPtrField<Patch>& patches) {
  std::vector<int> hidden(static_cast<std::size_t>(patches.size()), -1);
  // By slot: begin and end of later ones, and which.
  struct Range {
    std::uint64_t begin, end;
    int number;
  };
  std::map<std::uint64_t, std::vector<Range>> later;
  for (int i = patches.size() - 1; i >= 0; --i) {
    const Patch& patch = patches.Get(i);
    int& hides = hidden[static_cast<std::size_t>(i)];
    if (patch.data().empty()) {
      hides = i;
      continue;
    }
    const std::uint64_t begin = patch.at(), end = begin + patch.data().size();
    std::vector<Range>& ranges = later[patch.slot()];
    for (const Range& range : ranges) {
      if (range.begin <= begin && end <= range.end) hides = range.number;
    }
    if (hides < 0) ranges.push_back({begin, end, i});
  }
  return hidden;
}

}  // namespace mlafuzz

#endif  // MLAFUZZ_CORPUS_PATCHES_H_
