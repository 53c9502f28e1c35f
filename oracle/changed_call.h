#ifndef MLAFUZZ_ORACLE_CHANGED_CALL_H_
#define MLAFUZZ_ORACLE_CHANGED_CALL_H_

#include "absl/types/span.h"
#include "corpus/contract.pb.h"
#include "corpus/image.h"

namespace mlafuzz::oracle {

// One step alone, with arguments and rules that can be changed.
struct ChangedCall {
  Contract contract;
  CaseImage image;
  Step step;

  // `of` comes of a case.
  ChangedCall(const Contract& rules, const CaseImage& from, const StepImage& of)
      : contract(rules), step(*of.step) {
    image.pool = from.pool;
    image.steps = {of};
    image.steps[0].step = &step;
  }
  ChangedCall(const ChangedCall&) = delete;
  ChangedCall& operator=(const ChangedCall&) = delete;

  PoolImage& pool() { return image.pool; }
  StepImage& made() { return image.steps[0]; }
  Tensor* Find(TensorId id) { return made().Find(id); }
  void Drop(TensorId id);
};

// Another call that a kernel may take this one for: an argument is another, or
// a rule is kept under a condition.
struct CallChange {
  Kernel kernel;
  const char* key;    // "dense-pages"
  const char* words;  // "takes pages of the pool to be dense"
  // False: it leaves this call as it is, or has no room in it.
  bool (*change)(ChangedCall&);
  // Keeps another rule of the contract where some condition holds, and the
  // declared one elsewhere.
  bool narrowed = false;
};

// All that are known, of every kernel.
absl::Span<const CallChange> CallChanges();

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_CHANGED_CALL_H_
