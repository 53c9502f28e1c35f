#include "properties/fused/lent_layout.h"

#include <cstring>

namespace mlafuzz {
namespace {

// Where buffers begin, before their own misalignment.
constexpr std::uint64_t kAlignment = 256;
constexpr int kSlackByte = 0x5c;

LentLayout::Place Reserve(std::uint64_t* at, std::size_t misalignment,
                          std::size_t size) {
  const std::uint64_t begin =
      (*at + kAlignment - 1) / kAlignment * kAlignment + misalignment;
  *at = begin + size + LentLayout::kSlack;
  return {begin, size};
}

}  // namespace

LentLayout::LentLayout(const FusedCase& fused, std::uint64_t from,
                       std::uint64_t fill_from)
    : fused_(fused), fills_pool_(fused.pool_size() >= fill_from), from_(from) {
  const CaseImage& image = fused.shape();
  std::uint64_t at = from + kSlack;
  tensors_.resize(image.steps.size());
  for (std::size_t step = 0; step < image.steps.size(); ++step) {
    for (std::size_t t = 0; t < image.steps[step].tensors.size(); ++t) {
      tensors_[step].push_back(
          Reserve(&at, image.steps[step].tensors[t].misalignment,
                  fused.tensor_size(step, t)));
    }
  }
  pool_ = Reserve(&at, 0, fused.pool_size());
  used_ = at;
}

std::uint64_t LentLayout::PoolOf(std::size_t m) const {
  return pool_.begin + fused_.PagesOf(m).begin -
         static_cast<std::uint64_t>(fused_.members()[m]->pool.offset);
}

std::uint64_t LentLayout::RowsOf(std::size_t step, std::size_t t,
                                 std::size_t m) const {
  return tensors_[step][t].begin + fused_.RowsOf(step, t, m).begin;
}

void LentLayout::Lay(std::uint8_t* inputs, int threads) const {
  std::uint64_t end = from_;
  const auto slack = [&](const Place& place) {
    std::memset(inputs + end, kSlackByte, place.begin - end);
    end = place.begin + place.size;
  };
  FusedCase::Memory to;
  if (!fills_pool_) to.pool = inputs + pool_.begin;
  for (const auto& step : tensors_) {
    auto& tensors = to.tensors.emplace_back();
    for (const Place& place : step) {
      slack(place);
      tensors.push_back(inputs + place.begin);
    }
  }
  slack(pool_);
  std::memset(inputs + end, kSlackByte, used_ - end);
  fused_.LayInto(to, threads);
}

void LentLayout::AddLaid(std::vector<MlafuzzRange>* ranges) const {
  if (!ranges->empty() && ranges->back().end == from_) {
    ranges->back().end = used_;
  } else {
    ranges->push_back({from_, used_});
  }
  if (!fills_pool_) return;
  ranges->back().end = pool_.begin;
  ranges->push_back({pool_.begin + pool_.size, used_});
}

}  // namespace mlafuzz
