#ifndef MLAFUZZ_FUZZ_CAMPAIGN_CURVE_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_CURVE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mlafuzz {

// How far a campaign was at some second.
struct CurvePoint {
  double seconds = 0;
  std::uint64_t cases = 0;
  std::uint64_t coverage = 0;
  std::uint64_t findings = 0;
};

// A campaign's course in at most kMostPoints points however long it takes: when
// they are full every second one goes, and from then on they come half as
// often.
class Curve {
 public:
  static constexpr std::size_t kMostPoints = 128;

  // Points come in the order of time; those that come too early are dropped.
  void Add(const CurvePoint& point);
  // The last one is kept always.
  void Finish(const CurvePoint& point);

  const std::vector<CurvePoint>& points() const { return points_; }

 private:
  std::vector<CurvePoint> points_;
  double interval_ = 0.1;  // seconds
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_CURVE_H_
