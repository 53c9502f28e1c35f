#include "fuzz/state/merge.h"

namespace mlafuzz {

absl::StatusOr<Merged> Merge(const State& from, State& into) {
  Merged merged;
  for (const Kind kind : kAllKinds) {
    const auto ids = from.List(kind);
    if (!ids.ok()) return ids.status();
    for (const std::string& id : *ids) {
      const auto bytes = from.Get(kind, id);
      if (!bytes.ok()) {
        merged.damaged.emplace_back(bytes.status().message());
        continue;
      }
      if (into.Get(kind, id).ok()) {
        ++merged.known;
        continue;
      }
      const auto put = into.Put(kind, *bytes);
      if (!put.ok()) return put.status();
      ++merged.added;
    }
  }
  return merged;
}

}  // namespace mlafuzz
