#ifndef MLAFUZZ_FUZZ_CAMPAIGN_REPRODUCER_BYTE_PIECES_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_REPRODUCER_BYTE_PIECES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace mlafuzz {

// `bytes`, `times` times.
struct BytePiece {
  std::size_t times = 1;
  std::string bytes;
};

// Bytes as few pieces: what repeats itself with a period of 1, 2, 4 or 8 for 16
// bytes or more is folded. Put together they are `bytes` again.
std::vector<BytePiece> FoldBytes(absl::string_view bytes);

// A run of `to` that `from` does not have, of one size; short equal stretches
// between two differences are part of it.
struct BytePatch {
  std::size_t at = 0;
  std::string bytes;
};
std::vector<BytePatch> DifferenceOf(absl::string_view from,
                                    absl::string_view to);

// A C string literal, in lines of 16 bytes behind `indent`.
std::string ByteLiteral(absl::string_view bytes, absl::string_view indent);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_REPRODUCER_BYTE_PIECES_H_
