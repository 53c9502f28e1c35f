#include "kernels/layouts/mutants/mutants.h"

namespace mlafuzz {

std::vector<CompiledTarget> LayoutMutants() {
  std::vector<CompiledTarget> all;
  for (const auto family :
       {IndexerMutants, FooterMutants, FooterDecodeMutants, RowGatherMutants}) {
    for (const CompiledTarget& target : family()) all.push_back(target);
  }
  return all;
}

}  // namespace mlafuzz
