// What engines call, once for all fuzz targets.

#include <cstddef>
#include <cstdint>

#include "fuzz/targets/case_fuzzer.h"

namespace {

mlafuzz::CaseFuzzer& Fuzzer() {
  static auto* fuzzer = new mlafuzz::CaseFuzzer(mlafuzz::FuzzedKernels());
  return *fuzzer;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  return Fuzzer().OneInput(data, size);
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data,
                                               std::size_t size,
                                               std::size_t max_size,
                                               unsigned seed) {
  return Fuzzer().Mutate(data, size, max_size, seed);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(
    const std::uint8_t* data1, std::size_t size1, const std::uint8_t* data2,
    std::size_t size2, std::uint8_t* out, std::size_t max_out_size,
    unsigned seed) {
  return Fuzzer().CrossOver(data1, size1, data2, size2, out, max_out_size,
                            seed);
}
