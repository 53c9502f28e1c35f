#include "fuzz/command/paired_ratio.h"

#include <cmath>
#include <limits>

#include "boost/math/distributions/students_t.hpp"

namespace mlafuzz {
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
      boost::math::quantile(boost::math::students_t(freedom), 0.95);
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
