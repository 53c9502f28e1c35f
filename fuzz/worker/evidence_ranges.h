#ifndef MLAFUZZ_FUZZ_WORKER_EVIDENCE_RANGES_H_
#define MLAFUZZ_FUZZ_WORKER_EVIDENCE_RANGES_H_

#include <cstdint>
#include <iterator>
#include <map>

#include "fuzz/worker/evidence.pb.h"

namespace mlafuzz {

// Bytes of a buffer, as ranges that do not touch.
class ByteSet {
 public:
  void Add(std::int64_t begin, std::int64_t end) {
    if (begin >= end) return;
    auto next = ranges_.upper_bound(begin);
    if (next != ranges_.begin()) {
      const auto last = std::prev(next);
      if (last->second >= begin) {
        begin = last->first;
        end = end > last->second ? end : last->second;
        next = ranges_.erase(last);
      }
    }
    while (next != ranges_.end() && next->first <= end) {
      end = end > next->second ? end : next->second;
      next = ranges_.erase(next);
    }
    ranges_[begin] = end;
  }

  bool Has(std::int64_t at) const {
    const auto next = ranges_.upper_bound(at);
    return next != ranges_.begin() && std::prev(next)->second > at;
  }

  bool empty() const { return ranges_.empty(); }

  void CopyTo(google::protobuf::RepeatedPtrField<Evidence::Range>& to) const {
    for (const auto& [begin, end] : ranges_) {
      Evidence::Range& range = *to.Add();
      range.set_begin(begin);
      range.set_end(end);
    }
  }

 private:
  std::map<std::int64_t, std::int64_t> ranges_;  // begin to end
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_EVIDENCE_RANGES_H_
