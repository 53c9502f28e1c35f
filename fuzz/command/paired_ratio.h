#ifndef MLAFUZZ_FUZZ_COMMAND_PAIRED_RATIO_H_
#define MLAFUZZ_FUZZ_COMMAND_PAIRED_RATIO_H_

namespace mlafuzz {

// The geometric mean of ratios of positive numbers that were measured in pairs,
// and what chance leaves of it: one-sided 95 % bounds by Student's t of the
// logarithms. One pair says nothing of its spread: its bounds are 0 and
// infinite.
class PairedRatio {
 public:
  void Add(double before, double after);

  int count() const { return count_; }
  double ratio() const;  // 0 of no pair, as the bounds
  double low() const;
  double high() const;

 private:
  double Margin() const;

  int count_ = 0;
  double mean_ = 0;     // of logarithms
  double squares_ = 0;  // of their distances from it (Welford)
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_COMMAND_PAIRED_RATIO_H_
