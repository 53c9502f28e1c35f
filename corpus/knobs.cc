#include "corpus/knobs.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "corpus/knobs/list.h"
#include "corpus/knobs/parts.h"
#include "corpus/token_layout.h"

namespace mlafuzz {
namespace {

using namespace knobs;  // NOLINT: the list's names

// A slot that two writes of the program name.
bool SlotWrittenTwice(const CaseImage& image) {
  std::vector<std::int64_t> slots;
  for (const StepImage& step : image.steps) {
    if (step.is_patch || step.kernel != Kernel::kWriter) continue;
    const Tensor* t = step.Find(TensorId::kSlotMapping);
    if (t == nullptr) continue;
    const std::size_t before = slots.size();
    for (std::int64_t i = 0; i < t->shape[0]; ++i) {
      const std::int64_t slot = Load<std::int64_t>(t->bytes.data(), i);
      if (slot < 0) continue;
      if (std::binary_search(slots.begin(), slots.begin() + before, slot)) {
        return true;
      }
      slots.push_back(slot);
    }
    std::sort(slots.begin(), slots.end());
  }
  return false;
}

}  // namespace

const std::vector<Knob>& AllKnobs() {
  static const std::vector<Knob>* const kKnobs = new std::vector<Knob>{
#define MLAFUZZ_KNOB(id, name, kernel) {name, Kernel::k##kernel},
      MLAFUZZ_KNOBS(MLAFUZZ_KNOB)
#undef MLAFUZZ_KNOB
  };
  return *kKnobs;
}

bool KnobApplies(int knob, Layout layout) {
  const TokenLayout& token = TokenLayoutOf(layout);
  switch (AllKnobs()[static_cast<std::size_t>(knob)].kernel) {
    case Kernel::kConvert:
      return true;
    case Kernel::kDecode:
      return !token.copied &&
             DecodeKnobApplies(static_cast<KnobId>(knob), token);
    case Kernel::kWriter:
    case Kernel::kGather:
      break;
  }
  return token.layout == FP8_DS_MLA || knob == kProgramOverwrite ||
         knob == kProgramTwoWrites || knob == kProgramWriteThenGather ||
         knob == kProgramSeveralGathers;
}

std::vector<int> ExercisedKnobs(const CaseImage& image) {
  Found found;
  int writes = 0, gathers = 0, decodes = 0;
  for (const StepImage& step : image.steps) {
    if (step.is_patch) continue;
    switch (step.kernel) {
      case Kernel::kWriter:
        ++writes;
        WriteKnobs(image, step, found);
        break;
      case Kernel::kGather:
        ++gathers;
        if (writes > 0) found.set(kProgramWriteThenGather);
        GatherKnobs(image, step, found);
        break;
      case Kernel::kConvert:
        ConvertKnobs(image, step, found);
        break;
      case Kernel::kDecode:
        if (++decodes == 2) found.set(kProgramTwoDecodes);
        if (writes > 0) found.set(kProgramWriteThenDecode);
        DecodeKnobs(image, step, found);
        break;
    }
  }
  if (gathers > 1) found.set(kProgramSeveralGathers);
  if (writes > 1) {
    found.set(kProgramTwoWrites);
    if (SlotWrittenTwice(image)) found.set(kProgramOverwrite);
  }
  std::vector<int> numbers;
  numbers.reserve(found.count());
  for (int i = 0; i < kKnobCount; ++i) {
    if (found[i]) numbers.push_back(i);
  }
  return numbers;
}

}  // namespace mlafuzz
