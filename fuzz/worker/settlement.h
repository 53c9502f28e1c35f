#ifndef MLAFUZZ_FUZZ_WORKER_SETTLEMENT_H_
#define MLAFUZZ_FUZZ_WORKER_SETTLEMENT_H_

#include <map>
#include <string>

#include "fuzz/worker/known_causes.h"

namespace mlafuzz {

// Which of the explanations of one finding is its cause, as further cases are
// heard:
//
//   1. Of a case that fails and shares explanations with those left, only the
//      shared ones stay. One that shares none is another fault's, unless what
//      is left is possible in it: that says nothing.
//   2. What a case that passes rules out counts against a cause, but does not
//      end it: a kernel may keep a wrong rule under some condition alone. Such
//      a cause gives way to one that no case rules out, if that too explains
//      every failing case.
//   3. What is only possible in the finding's own case (CauseKeys::possible) is
//      no cause of it until kProofs failing cases are explained by it and none
//      speaks against it: one alone may be so by chance. It stands beside what
//      explains every one of these cases as well.
//   4. A death whose address nobody tells (CUDA's) explains nothing. But a rule
//      that tells who dies, kForetold deaths and kForetold cases that live, and
//      was never wrong, is the cause as well, beside what is left and possible
//      in as many.
class Settlement {
 public:
  // Of the finding's own case, the best first.
  explicit Settlement(CauseKeys explanations);

  static constexpr int kProofs = 3;
  static constexpr int kForetold = 8;
  // A claim (a rule, a fault from which a prediction follows) is settled by so
  // many further cases that fail by it: a fault that is like it in a few is
  // rarely so in twelve.
  static constexpr int kEnoughForClaim = 12;

  // Of a case that fails. False if it shares none. `says_little`
  // (Diagnosis::says_little): it may share some by chance.
  bool Fails(const CauseKeys& explanations, bool says_little = false);
  // A case that passes rules `cause` out. `testable` below says of which causes
  // that can be said at all.
  void RuledOut(const std::string& cause);
  // A case dies that must if `cause`, unproven or left, is true; Fails() comes
  // first.
  void Dies(const std::string& cause);
  // A case passes that lives if `cause`, unproven, is true.
  void Lives(const std::string& cause);
  // A case passes that must die or fail if it is true.
  void IsWrong(const std::string& cause);

  // All that failing cases leave.
  const CauseKeys& left() const { return left_; }
  // What is still only possible.
  const CauseKeys& unproven() const { return unproven_; }
  // Whether some of it explains a failing case by now, or foretold kProofs
  // deaths.
  bool IsHalfProven() const;
  // Of what is left, the ones that stand, the best first. `testable`: causes
  // from which a prediction follows; no other makes a cause give way.
  template <typename Testable>
  CauseKeys Causes(Testable testable) const {
    CauseKeys standing;
    bool any = false;
    for (const std::string& cause : left_) {
      if (IsRuledOut(cause)) continue;
      standing.push_back(cause);
      any |= testable(cause);
    }
    return any ? standing : left_;
  }

  // Cases that pass and rule `cause` out.
  int contradicted(const std::string& cause) const;

  // Failing cases that share explanations.
  int alike() const { return alike_; }
  // Failing cases that share none, and in which none is possible.
  int others() const { return others_; }
  // Whether all that share explanations said little.
  bool SaysLittle() const { return alike_ > 0 && telling_ == 0; }
  // Whether what is left may explain by chance what it does: at least as many
  // cases fail otherwise, or half as many while it has not been heard enough,
  // or one where none of the others said much.
  bool IsDoubtful() const {
    if (SaysLittle()) return others_ > 0;
    const int weight = alike_ < kEnoughForClaim ? 2 : 1;
    return others_ >= kProofs && weight * others_ >= alike_;
  }

 private:
  bool IsRuledOut(const std::string& cause) const {
    return contradicted(cause) > 0;
  }
  void ProveForetellers();

  CauseKeys left_;
  CauseKeys unproven_;
  std::map<std::string, int> ruled_out_;  // by so many cases that pass
  // Of what is unproven.
  std::map<std::string, int> proofs_;
  std::map<std::string, int> deaths_;
  std::map<std::string, int> lives_;
  int alike_ = 0;
  int telling_ = 0;  // of them, that said much
  int others_ = 0;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_SETTLEMENT_H_
