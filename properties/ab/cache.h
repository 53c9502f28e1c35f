#ifndef MLAFUZZ_PROPERTIES_AB_CACHE_H_
#define MLAFUZZ_PROPERTIES_AB_CACHE_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corpus/case.pb.h"
#include "corpus/image.h"

namespace mlafuzz {

// How large the experiment is; the defaults are those of the report that this
// project started from (vLLM pull request 54563).
struct AbSize {
  std::int64_t rows = 1024;   // of the cache, in pages of 64
  std::int64_t heads = 32;    // of one query
  std::int64_t top_k = 2048;  // keys, drawn from the rows: each may come again
  std::uint64_t seed = 1;
};

// rows, top_k 1..65536, heads 1..128, log2_spread 0..40; InvalidArgument names
// what is not.
absl::Status CheckAbSize(const AbSize& size, double log2_spread);

// The stored tile scales of a cache, and what a reader that keeps their
// exponent alone makes of them: 2^floor(log2 s) / s, in (0.5, 1].
struct ScaleFacts {
  std::int64_t count = 0;
  std::int64_t not_powers_of_two = 0;
  double log2_spread = 0;  // largest to least
  double mean_factor = 0;
  double least_factor = 0;
};

// A cache of 656-byte rows packed as that report packs it, and one query:
// scales are fp32(amax / 448) with amax floored at 1e-4, codes are E4M3 of the
// true quotient. Latent values are normal, each tile of 128 times 2^(w u), u
// uniform in [-0.72, 0.28) and w such that the scales spread over 2^log2_spread
// (w = 0 where they do anyway). Queries and rope are normal. All from `seed`.
class AbCache {
 public:
  // Refuses what CheckAbSize() refuses.
  static absl::StatusOr<std::unique_ptr<AbCache>> Create(const AbSize& size,
                                                         double log2_spread);

  // One step: the decode.
  const CaseImage& image() const { return image_; }
  const ScaleFacts& scales() const { return scales_; }

 private:
  AbCache() = default;
  absl::Status Fill(const AbSize& size, double log2_spread);

  Case case_;
  CaseImage image_;  // points into case_
  ScaleFacts scales_;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_AB_CACHE_H_
