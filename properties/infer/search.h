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

struct SearchResult {
  Contract contract;  // at least as good as the declared one
  Tally as_declared;
  Tally tally;
  // Of each changed field, other single changes that did as well:
  // "writer.tail=TAIL_UNCHANGED".
  std::map<std::string, std::vector<std::string>> also;
};

struct SearchOptions {
  // Where one change at a time does too little, two at once. False: those of
  // the two sides' scales alone.
  bool pairs = true;
  std::function<void()> progress = [] {};  // called now and then
};

// The contract next to `declared` that is best for `probes` (Tally), one
// changed field after the other, the best first; changes without which it is as
// good are undone. For a decode its arithmetic is searched too.
SearchResult SearchContract(Kernel kernel, const Contract& declared,
                            absl::Span<const Probe> probes,
                            const SearchOptions& options);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_INFER_SEARCH_H_
