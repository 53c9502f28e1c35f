#ifndef MLAFUZZ_FUZZ_TARGETS_CASE_BYTES_H_
#define MLAFUZZ_FUZZ_TARGETS_CASE_BYTES_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "properties/choices.h"
#include "properties/generate.h"

namespace mlafuzz {

// The structured mutator in the form that libFuzzer wants: bytes of a case in,
// binary bytes of another case out, at most `max_size`; returns their number.

// Mutates the case in `data`; a new one if there is none, or if it outgrew the
// limit. 0 (the engine tries something else) if that does not fit either.
std::size_t MutateBytes(std::uint8_t* data, std::size_t size,
                        std::size_t max_size, Choices choices,
                        const GeneratorOptions& options);

// 0 if either is no case or the child does not fit.
std::size_t CrossOverBytes(absl::string_view a, absl::string_view b,
                           std::uint8_t* out, std::size_t max_size,
                           Choices choices, const GeneratorOptions& options);

inline absl::string_view BytesView(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_TARGETS_CASE_BYTES_H_
