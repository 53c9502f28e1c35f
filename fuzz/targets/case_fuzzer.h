#ifndef MLAFUZZ_FUZZ_TARGETS_CASE_FUZZER_H_
#define MLAFUZZ_FUZZ_TARGETS_CASE_FUZZER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "fuzz/worker/session.h"
#include "properties/generate.h"

namespace mlafuzz {

// What a fuzz target's own file defines: the kernels that its cases call. The
// entry points that engines look for come with this library.
GeneratorOptions FuzzedKernels();

// What the standalone fuzz targets share: an input is a case (binary or text),
// checked against the target that $MLAFUZZ_TARGET names (default: this
// project's of the layout). A failure is explained on stderr and aborts, as
// engines expect.
class CaseFuzzer {
 public:
  explicit CaseFuzzer(const GeneratorOptions& options);

  // 0, or -1 if the input is no case and need not be kept.
  int OneInput(const std::uint8_t* data, std::size_t size);
  std::size_t Mutate(std::uint8_t* data, std::size_t size, std::size_t max_size,
                     unsigned seed) const;
  std::size_t CrossOver(const std::uint8_t* data1, std::size_t size1,
                        const std::uint8_t* data2, std::size_t size2,
                        std::uint8_t* out, std::size_t max_out_size,
                        unsigned seed) const;

 private:
  GeneratorOptions options_;
  std::unique_ptr<Session> session_;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_TARGETS_CASE_FUZZER_H_
