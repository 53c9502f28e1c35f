#ifndef MLAFUZZ_KERNELS_FOREIGN_CASE_RUN_H_
#define MLAFUZZ_KERNELS_FOREIGN_CASE_RUN_H_

#include <cstddef>
#include <string>

#include "corpus/image.h"
#include "corpus/observation.h"

namespace mlafuzz {

// A case to run, and where its observation goes.
struct CaseRun {
  const CaseImage* image = nullptr;
  Observation* seen = nullptr;
};

// The death of a process in which cases ran, and the one that it is put down
// to: a place in the list that was run.
struct Casualty {
  std::size_t place = 0;
  CallStatus status = CallStatus::kCrash;
  std::string message;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_FOREIGN_CASE_RUN_H_
