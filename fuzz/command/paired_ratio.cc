#include "fuzz/command/paired_ratio.h"

#include <cmath>
#include <iterator>
#include <limits>

namespace mlafuzz {
namespace {

// 95th percentile of Student's t, by degrees of freedom from 1 on; then the
// normal distribution's, which 31 differ from by 3 %.
constexpr double kT[] = {6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860,
                         1.833, 1.812, 1.796, 1.782, 1.771, 1.761, 1.753, 1.746,
                         1.740, 1.734, 1.729, 1.725, 1.721, 1.717, 1.714, 1.711,
                         1.708, 1.706, 1.703, 1.701, 1.699, 1.697};
constexpr double kNormal = 1.645;

}  // namespace

void PairedRatio::Add(double before, double after) {
  const double x = std::log(after / before);
  ++count_;
  const double step = x - mean_;
  mean_ += step / count_;
  squares_ += step * (x - mean_);
}

double PairedRatio::Margin() const {
  if (count_ < 2) return std::numeric_limits<double>::infinity();
  const int freedom = count_ - 1;
  const double t =
      freedom <= static_cast<int>(std::size(kT)) ? kT[freedom - 1] : kNormal;
  return t * std::sqrt(squares_ / freedom / count_);
}

double PairedRatio::ratio() const { return count_ == 0 ? 0 : std::exp(mean_); }

double PairedRatio::low() const {
  return count_ == 0 ? 0 : std::exp(mean_ - Margin());
}

double PairedRatio::high() const {
  return count_ == 0 ? 0 : std::exp(mean_ + Margin());
}

}  // namespace mlafuzz
