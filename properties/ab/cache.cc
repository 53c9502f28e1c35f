#include "properties/ab/cache.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "corpus/contracts.h"
#include "corpus/value_generator.h"
#include "oracle/expect.h"

namespace mlafuzz {
namespace {

constexpr int kPage = 64;
constexpr int kLatent = 512;
constexpr int kRope = 64;
constexpr int kTile = 128;
constexpr int kTiles = kLatent / kTile;
constexpr int kScalesAt = 512;                           // byte of a row
constexpr std::uint32_t kSoftmaxScaleBits = 0x3d2aaaab;  // 576^-0.5
constexpr std::uint32_t kAmaxFloorBits = 0x38d1b717;     // 1e-4

// The report does not say how large its values were and how it spread the
// scales; these are chosen. Standard deviations at which the mean of
// 2^floor(log2 s) / s and the errors at spread 1.4 are the report's, and the
// part of the octaves of gain that lies above 1, at which the errors of the
// arbitrary reader at the other spreads are near its own.
constexpr double kQuerySize = 0.08;
constexpr double kLatentSize = 0.8;
constexpr double kRopeSize = 0.8;
constexpr double kOctavesAbove = 0.28;

// Streams of the seed.
enum Stream { kLatents, kGains, kRopes, kQueries, kIndices };

// Standard normal, element i: Box and Muller's transform of two words.
class Normal {
 public:
  Normal(std::uint64_t seed, Stream stream)
      : words_(ValueGenerator(seed).Stream(stream)) {}

  double operator()(std::uint64_t i) const {
    // In (0, 1] and [0, 1).
    const double radius =
        static_cast<double>((words_.Word(2 * i) >> 11) + 1) * 0x1p-53;
    const double angle =
        static_cast<double>(words_.Word(2 * i + 1) >> 11) * 0x1p-53;
    return std::sqrt(-2 * std::log(radius)) *
           std::cos(2 * std::numbers::pi * angle);
  }

 private:
  ValueGenerator words_;
};

// Nearest even; finite values only.
std::uint16_t Bf16(double x) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// `count` values of `values` as bf16 to the front of a tensor.
template <typename Values>
void SetTensor(StepImage& step, TensorId id, std::int64_t count,
               const Values& values) {
  Tensor& tensor = *step.Find(id);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint16_t bits = Bf16(values(static_cast<std::uint64_t>(i)));
    std::memcpy(tensor.bytes.data() + 2 * i, &bits, 2);
  }
}

double Log2Spread(const std::vector<double>& amax,
                  const std::vector<double>& gain, double width) {
  double least = HUGE_VAL, most = 0;
  for (std::size_t i = 0; i < amax.size(); ++i) {
    const double scaled = std::max(amax[i] * std::exp2(width * gain[i]), 1e-4);
    least = std::min(least, scaled);
    most = std::max(most, scaled);
  }
  return std::log2(most / least);
}

// The w of the class comment.
double WidthFor(const std::vector<double>& amax,
                const std::vector<double>& gain, double log2_spread) {
  double low = 0, high = log2_spread;
  if (Log2Spread(amax, gain, low) >= log2_spread) return 0;
  // Halved to the last bit that matters to a bf16 value.
  for (int i = 0; i < 30; ++i) {
    const double middle = (low + high) / 2;
    (Log2Spread(amax, gain, middle) < log2_spread ? low : high) = middle;
  }
  return high;
}

ScaleFacts FactsOf(const PoolImage& pool, std::int64_t rows) {
  ScaleFacts facts;
  double least = HUGE_VAL, most = 0, sum = 0;
  facts.least_factor = 1;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (int tile = 0; tile < kTiles; ++tile) {
      float scale;
      std::memcpy(&scale,
                  pool.bytes.data() + pool.RowAt(row) + kScalesAt + 4 * tile,
                  4);
      const double factor = std::exp2(std::floor(std::log2(scale))) / scale;
      ++facts.count;
      facts.not_powers_of_two += factor != 1 ? 1 : 0;
      facts.least_factor = std::min(facts.least_factor, factor);
      sum += factor;
      least = std::min<double>(least, scale);
      most = std::max<double>(most, scale);
    }
  }
  facts.mean_factor = sum / static_cast<double>(facts.count);
  facts.log2_spread = std::log2(most / least);
  return facts;
}

template <typename Number>
absl::Status Within(const char* name, Number value, Number low, Number high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " must be ", low, " to ", high, ", got ", value));
}

}  // namespace

absl::Status CheckAbSize(const AbSize& size, double log2_spread) {
  constexpr std::int64_t kOne = 1, kMost = 65536, kMostHeads = 128;
  for (const absl::Status& s : {Within("rows", size.rows, kOne, kMost),
                                Within("heads", size.heads, kOne, kMostHeads),
                                Within("top-k", size.top_k, kOne, kMost),
                                Within("spread", log2_spread, 0.0, 40.0)}) {
    if (!s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<AbCache>> AbCache::Create(const AbSize& size,
                                                         double log2_spread) {
  if (absl::Status s = CheckAbSize(size, log2_spread); !s.ok()) return s;
  auto cache = absl::WrapUnique(new AbCache);
  if (absl::Status s = cache->Fill(size, log2_spread); !s.ok()) return s;
  return cache;
}

absl::Status AbCache::Fill(const AbSize& size, double log2_spread) {
  const std::uint32_t rows = static_cast<std::uint32_t>(size.rows);
  Pool pool;
  pool.set_page_size(kPage);
  pool.set_pages((rows + kPage - 1) / kPage);

  // The oracle is the writer.
  Case packing;
  *packing.mutable_pool() = pool;
  Write& write = *packing.add_steps()->mutable_write();
  write.mutable_slots()->set_count(rows);
  write.set_pe_dim(kRope);
  absl::StatusOr<CaseImage> packed = BuildImage(packing);
  if (!packed.ok()) return packed.status();
  const Normal latents(size.seed, kLatents), ropes(size.seed, kRopes),
      queries(size.seed, kQueries);
  const ValueGenerator gains = ValueGenerator(size.seed).Stream(kGains);
  std::vector<double> amax, gain;
  for (std::uint64_t tile = 0; tile < std::uint64_t{rows} * kTiles; ++tile) {
    double largest = 0;
    for (std::uint64_t i = 0; i < kTile; ++i) {
      largest = std::max(largest, std::fabs(latents(tile * kTile + i)));
    }
    amax.push_back(largest * kLatentSize);
    gain.push_back(static_cast<double>(gains.Word(tile) >> 11) * 0x1p-53 +
                   kOctavesAbove - 1);
  }
  const double width = WidthFor(amax, gain, log2_spread);
  SetTensor(packed->steps[0], TensorId::kKvC, std::int64_t{rows} * kLatent,
            [&](std::uint64_t i) {
              return kLatentSize * latents(i) *
                     std::exp2(width * gain[i / kTile]);
            });
  SetTensor(packed->steps[0], TensorId::kKPe, std::int64_t{rows} * kRope,
            [&](std::uint64_t i) { return kRopeSize * ropes(i); });
  Contract writer = BuiltinContract();
  writer.mutable_writer()->set_floor(WriterContract::FLOOR_ON_AMAX);
  writer.mutable_writer()->set_floor_bits(kAmaxFloorBits);

  *case_.mutable_pool() = pool;
  Decode& decode = *case_.add_steps()->mutable_decode();
  decode.set_queries(1);
  decode.set_heads(static_cast<std::uint32_t>(size.heads));
  decode.set_pe_dim(kRope);
  decode.mutable_indices()->set_rows(1);
  decode.mutable_indices()->set_width(static_cast<std::uint32_t>(size.top_k));
  decode.set_softmax_scale_bits(kSoftmaxScaleBits);
  absl::StatusOr<CaseImage> image = BuildImage(case_);
  if (!image.ok()) return image.status();
  image_ = *std::move(image);
  image_.pool.bytes = Expect(writer, *packed, 0, packed->pool.bytes).pool;
  SetTensor(image_.steps[0], TensorId::kQ, size.heads * (kLatent + kRope),
            [&](std::uint64_t i) { return kQuerySize * queries(i); });
  Tensor& indices = *image_.steps[0].Find(TensorId::kIndices);
  const ValueGenerator drawn = ValueGenerator(size.seed).Stream(kIndices);
  for (std::int64_t i = 0; i < size.top_k; ++i) {
    const std::uint32_t slot = drawn.Below(static_cast<std::uint64_t>(i), rows);
    std::memcpy(indices.bytes.data() + 4 * i, &slot, 4);
  }
  scales_ = FactsOf(image_.pool, size.rows);
  return absl::OkStatus();
}

}  // namespace mlafuzz
