// Sparse attention over pools of any bytes: single decodes and programs of
// them.

#include "fuzz/targets/case_fuzzer.h"

mlafuzz::GeneratorOptions mlafuzz::FuzzedKernels() {
  return {.writer = false, .gather = false, .convert = false, .decode = true};
}
