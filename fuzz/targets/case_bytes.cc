#include "fuzz/targets/case_bytes.h"

#include <cstring>
#include <string>

#include "absl/status/statusor.h"
#include "corpus/codec.h"
#include "fuzz/mutator/mutator.h"

namespace mlafuzz {
namespace {

std::size_t Put(const Case& c, std::uint8_t* out, std::size_t max_size) {
  const std::string bytes = CanonicalBinary(c);
  if (bytes.size() > max_size) return 0;
  std::memcpy(out, bytes.data(), bytes.size());
  return bytes.size();
}

}  // namespace

std::size_t MutateBytes(std::uint8_t* data, std::size_t size,
                        std::size_t max_size, Choices choices,
                        const GeneratorOptions& options) {
  if (options.steering != nullptr) options.steering->made_for = -1;
  absl::StatusOr<Case> c = ParseCase(BytesView(data, size));
  if (c.ok()) {
    MutateCase(*c, choices, options);
    if (const std::size_t n = Put(*c, data, max_size)) return n;
  }
  return Put(GenerateCase(choices, options), data, max_size);
}

std::size_t CrossOverBytes(absl::string_view a, absl::string_view b,
                           std::uint8_t* out, std::size_t max_size,
                           Choices choices, const GeneratorOptions& options) {
  if (options.steering != nullptr) options.steering->made_for = -1;
  const absl::StatusOr<Case> first = ParseCase(a);
  const absl::StatusOr<Case> second = ParseCase(b);
  if (!first.ok() || !second.ok()) return 0;
  return Put(CrossOverCases(*first, *second, choices, options), out, max_size);
}

}  // namespace mlafuzz
