#ifndef MLAFUZZ_FUZZ_NIGHTLY_CONFIG_H_
#define MLAFUZZ_FUZZ_NIGHTLY_CONFIG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "fuzz/nightly/config.pb.h"

namespace mlafuzz {

// InvalidArgument for text that is no config, with line and field, for one
// without a state or work, and for work without units or cases. `red` is filled
// in.
absl::StatusOr<NightConfig> ParseNightConfig(absl::string_view text);

// Units of all nights have seeds of their own: night n (from 1) begins here.
inline constexpr std::uint64_t kSeedsOfANight = 1'000'000;
std::uint64_t FirstSeed(std::uint64_t night);

// As flags of `mlafuzz unit`: target, kernels, backend, device, flavour.
std::vector<std::string> WorkFlags(const Work& work);

bool IsRed(const NightConfig& config, Red red);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_NIGHTLY_CONFIG_H_
