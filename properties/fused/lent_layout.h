#ifndef MLAFUZZ_PROPERTIES_FUSED_LENT_LAYOUT_H_
#define MLAFUZZ_PROPERTIES_FUSED_LENT_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/device/lender_api.h"
#include "kernels/foreign/executor.h"
#include "properties/fused/fused_case.h"

namespace mlafuzz {

// Where a fused call's tensors lie in lent memory, and in the reference beside
// it: offsets of both. Slack of kSlack bytes around each must stay whole; the
// pool comes last, and what lies behind it is soon not mapped.
class LentLayout {
 public:
  using Place = LentCall::Place;

  static constexpr std::uint64_t kSlack = 4096;

  // From byte `from` on. A pool of `fill_from` bytes or more is filled on the
  // device. `fused` must outlive it.
  explicit LentLayout(const FusedCase& fused, std::uint64_t from = 0,
                      std::uint64_t fill_from = kFillFrom);

  // An estimate: bringing so many takes 19 us at 55 GB/s, having them filled
  // two or three launches and a copy more.
  static constexpr std::uint64_t kFillFrom = std::uint64_t{1} << 20;

  const Place& pool() const { return pool_; }
  const Place& tensor(std::size_t step, std::size_t t) const {
    return tensors_[step][t];
  }
  const std::vector<Place>& tensors(std::size_t step) const {
    return tensors_[step];
  }
  std::uint64_t from() const { return from_; }
  // The end of the last slack.
  std::uint64_t used() const { return used_; }

  // Offset of byte 0 of member m's PoolImage::bytes; of those before its page 0
  // none is its own.
  std::uint64_t PoolOf(std::size_t m) const;
  // Offset of byte 0 of member m's tensor.
  std::uint64_t RowsOf(std::size_t step, std::size_t t, std::size_t m) const;

  // PoolsOnDevice lays the pool, and Lay() leaves it out.
  bool FillsPool() const { return fills_pool_; }
  // All that the call finds, slack included, into bytes [from(), used()).
  void Lay(std::uint8_t* inputs, int threads) const;
  // Adds the stretches that Lay() lays; one that goes on where the last ends
  // belongs to that.
  void AddLaid(std::vector<MlafuzzRange>* ranges) const;

 private:
  const FusedCase& fused_;
  Place pool_;
  bool fills_pool_;
  std::vector<std::vector<Place>> tensors_;
  const std::uint64_t from_;
  std::uint64_t used_ = 0;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_FUSED_LENT_LAYOUT_H_
