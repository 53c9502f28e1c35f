#ifndef MLAFUZZ_PROPERTIES_INFER_SEARCH_H_
#define MLAFUZZ_PROPERTIES_INFER_SEARCH_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "corpus/contract.pb.h"
#include "corpus/contracts.h"
#include "corpus/image.h"
#include "properties/infer/probes.h"

namespace mlafuzz {

// How many of `probes` a contract explains.
int Explained(const Contract& contract, absl::Span<const Probe> probes);

struct SearchResult {
  Contract contract;  // explains at least as many as the declared one
  int explained_as_declared = 0;
  int explained = 0;
  // Of each changed field, other single changes that explained as much:
  // "writer.tail=TAIL_UNCHANGED".
  std::map<std::string, std::vector<std::string>> also;
};

struct SearchOptions {
  // Where one change at a time explains too little, two at once.
  bool pairs = true;
  std::function<void()> progress = [] {};  // called now and then
};

// The contract next to `declared` that explains most of `probes`, one changed
// field after the other, the best first; changes without which it explains as
// much are undone. For a decode its arithmetic is searched too.
SearchResult SearchContract(Kernel kernel, const Contract& declared,
                            absl::Span<const Probe> probes,
                            const SearchOptions& options);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_INFER_SEARCH_H_
