// All kernels on one pool: writes, overwrites, gathers and decodes of them.

#include "fuzz/targets/case_fuzzer.h"

mlafuzz::GeneratorOptions mlafuzz::FuzzedKernels() {
  return {.writer = true, .gather = true, .convert = true, .decode = true};
}
