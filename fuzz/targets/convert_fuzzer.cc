// Token numbers of requests into pool slots.

#include "fuzz/targets/case_fuzzer.h"

mlafuzz::GeneratorOptions mlafuzz::FuzzedKernels() {
  return {.writer = false, .gather = false, .convert = true, .decode = false};
}
