// Quantise and store: programs of writes.

#include "fuzz/targets/case_fuzzer.h"

mlafuzz::GeneratorOptions mlafuzz::FuzzedKernels() {
  return {.writer = true, .gather = false, .convert = false, .decode = false};
}
