#ifndef MLAFUZZ_FUZZ_DUMP_SCAN_H_
#define MLAFUZZ_FUZZ_DUMP_SCAN_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "fuzz/dump/dump.h"

namespace mlafuzz {

// What a token's bytes may hold that no right writer leaves of finite inputs.
enum class Oddity {
  kNanCode,        // 0x7f or 0xff
  kScale,          // fp32: negative, infinite or NaN; UE8M0: 255
  kPadding,        // bytes of a token behind its scales that are not 0
  kRopeNotFinite,  // as bf16
};
inline constexpr std::array kAllOddities = {
    Oddity::kNanCode, Oddity::kScale, Oddity::kPadding, Oddity::kRopeNotFinite};
// "NaN codes", ...
const char* OddityName(Oddity oddity);

// What all tokens that requests hold look like. One that several requests share
// counts once.
struct Scan {
  struct Count {
    std::uint64_t tokens = 0;
    std::int64_t first_byte = -1;  // in the file
    std::int64_t page = 0, row = 0;
  };
  // A token that is worth a case, as a request sees it.
  struct Place {
    std::int64_t request = 0;
    std::int64_t token = 0;
  };
  std::uint64_t tokens = 0;
  std::uint64_t scales = 0;
  std::uint64_t powers_of_two = 0;  // of the scales; all that are UE8M0
  std::uint64_t zero_tokens = 0;    // all bytes 0
  std::array<Count, kAllOddities.size()> odd = {};
  std::vector<Place> places;  // the first few odd ones of each kind
};

// Reads each page that a request holds, once.
absl::StatusOr<Scan> ScanTokens(const Dump& dump);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_DUMP_SCAN_H_
