// Read rows into a dense workspace: gathers from pools of any bytes.

#include "fuzz/targets/case_fuzzer.h"

mlafuzz::GeneratorOptions mlafuzz::FuzzedKernels() {
  return {.writer = false, .gather = true, .convert = false, .decode = false};
}
