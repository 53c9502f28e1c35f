#include "fuzz/campaign/curve.h"

namespace mlafuzz {

void Curve::Add(const CurvePoint& point) {
  if (!points_.empty() && point.seconds < points_.back().seconds + interval_) {
    return;
  }
  if (points_.size() + 1 >= kMostPoints) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < points_.size(); i += 2) {
      points_[kept++] = points_[i];
    }
    points_.resize(kept);
    interval_ *= 2;
  }
  points_.push_back(point);
}

void Curve::Finish(const CurvePoint& point) {
  if (!points_.empty() && points_.back().seconds >= point.seconds) {
    points_.pop_back();
  }
  points_.push_back(point);
}

}  // namespace mlafuzz
