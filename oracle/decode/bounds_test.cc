// No right kernel leaves the bounds: a scalar fp32 emulation that draws all
// that a contract leaves free, over random small cases with hostile scales.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "corpus/contracts.h"
#include "gtest/gtest.h"
#include "oracle/bf16.h"
#include "oracle/decode/decode.h"
#include "oracle/decode/emulated_kernel.h"

namespace mlafuzz {
namespace {

struct Variant {
  const char* name;
  Arithmetic::Dequantised dequantised;
  Arithmetic::Query query;
  Arithmetic::Weights weights;
  int block;
  int blocks_per_split;
  Arithmetic::Partials partials;
  Arithmetic::Accumulator accumulator;
  int bits;
  double exp2;
  Arithmetic::Denormals denormals;
};

constexpr Variant kVariants[] = {
    {"bf16", Arithmetic::DEQUANTISED_BF16, Arithmetic::QUERY_BF16,
     Arithmetic::WEIGHTS_BF16, 16, 2, Arithmetic::PARTIALS_FP32,
     Arithmetic::IEEE_FP32, 24, 0x1p-22, Arithmetic::DENORMALS_KEPT},
    {"bf16-partials", Arithmetic::DEQUANTISED_BF16, Arithmetic::QUERY_BF16,
     Arithmetic::WEIGHTS_BF16, 16, 1, Arithmetic::PARTIALS_BF16,
     Arithmetic::IEEE_FP32, 24, 0x1p-22, Arithmetic::DENORMALS_FLUSHED},
    {"fp32", Arithmetic::DEQUANTISED_FP32, Arithmetic::QUERY_BF16,
     Arithmetic::WEIGHTS_FP32, 16, 2, Arithmetic::PARTIALS_FP32,
     Arithmetic::IEEE_FP32, 24, 0x1p-22, Arithmetic::DENORMALS_KEPT},
    {"codes-fp32", Arithmetic::DEQUANTISED_CODES, Arithmetic::QUERY_BF16,
     Arithmetic::WEIGHTS_FP32, 16, 2, Arithmetic::PARTIALS_FP32,
     Arithmetic::IEEE_FP32, 24, 0x1p-22, Arithmetic::DENORMALS_UNKNOWN},
    {"mma26", Arithmetic::DEQUANTISED_BF16, Arithmetic::QUERY_BF16,
     Arithmetic::WEIGHTS_BF16, 64, 1, Arithmetic::PARTIALS_FP32,
     Arithmetic::MMA, 26, 0x1p-22, Arithmetic::DENORMALS_FLUSHED},
    {"e4m3", Arithmetic::DEQUANTISED_CODES, Arithmetic::QUERY_E4M3,
     Arithmetic::WEIGHTS_E4M3, 16, 1, Arithmetic::PARTIALS_BF16,
     Arithmetic::IEEE_FP32, 24, 0x1p-22, Arithmetic::DENORMALS_KEPT},
    {"e4m3-two-pass", Arithmetic::DEQUANTISED_CODES, Arithmetic::QUERY_E4M3,
     Arithmetic::WEIGHTS_E4M3_TWO_PASS, 64, 1, Arithmetic::PARTIALS_BF16,
     Arithmetic::IEEE_FP32, 24, 0x1p-22, Arithmetic::DENORMALS_KEPT},
    {"e4m3-mma14", Arithmetic::DEQUANTISED_CODES, Arithmetic::QUERY_E4M3,
     Arithmetic::WEIGHTS_E4M3, 64, 1, Arithmetic::PARTIALS_BF16,
     Arithmetic::MMA, 14, 0x1p-22, Arithmetic::DENORMALS_FLUSHED},
    {"blocks-unknown", Arithmetic::DEQUANTISED_BF16, Arithmetic::QUERY_BF16,
     Arithmetic::WEIGHTS_BF16, 0, 0, Arithmetic::PARTIALS_FP32,
     Arithmetic::IEEE_FP32, 24, 0x1p-22, Arithmetic::DENORMALS_KEPT},
    {"e4m3-unknown", Arithmetic::DEQUANTISED_CODES, Arithmetic::QUERY_E4M3,
     Arithmetic::WEIGHTS_E4M3_TWO_PASS, 0, 0, Arithmetic::PARTIALS_UNKNOWN,
     Arithmetic::MMA, 0, 0, Arithmetic::DENORMALS_UNKNOWN},
    {"all-unknown", Arithmetic::DEQUANTISED_UNKNOWN, Arithmetic::QUERY_UNKNOWN,
     Arithmetic::WEIGHTS_UNKNOWN, 0, 0, Arithmetic::PARTIALS_UNKNOWN,
     Arithmetic::ACCUMULATOR_UNKNOWN, 0, 0, Arithmetic::DENORMALS_UNKNOWN},
};

Contract ContractOf(const Variant& v, Layout layout) {
  Contract c = BuiltinContract(layout);
  Arithmetic& a = *c.mutable_arithmetic();
  a.set_dequantised(v.dequantised);
  a.set_query(v.query);
  a.set_weights(v.weights);
  a.set_block(static_cast<std::uint32_t>(v.block));
  a.set_blocks_per_split(static_cast<std::uint32_t>(v.blocks_per_split));
  a.set_partials(v.partials);
  a.set_accumulator(v.accumulator);
  a.set_accumulator_bits(static_cast<std::uint32_t>(v.bits));
  a.set_exp2_relative_error(v.exp2);
  a.set_denormals(v.denormals);
  return c;
}

// One random case, drawn to hurt: see each choice.
class RandomCase {
 public:
  RandomCase(std::mt19937_64& random, int keys, Layout layout)
      : random_(random) {
    const bool hostile = Draw(4) == 0;
    const int rows = 8;
    PoolImage& pool = image.pool;
    pool.pages = 2;
    pool.page_size = rows / 2;
    const bool footer = layout == DSV4_FOOTER_584;
    pool.layout = layout;
    pool.row_part = pool.row_stride = footer ? 576 : 656;
    pool.row_bytes = footer ? 584 : 656;
    pool.page_stride = footer ? 5 * 576 : pool.page_size * 656;
    pool.bytes.resize(static_cast<std::size_t>(pool.pages * pool.page_stride));
    const int spread = static_cast<int>(Draw(3)) * 9;
    for (int r = 0; r < rows; ++r) FillRow(r, hostile, spread);

    Decode& d = *step.mutable_decode();
    const int pe_dim = !footer && Draw(2) == 0 ? 64 : 0;
    const int columns = 512 + pe_dim;
    d.set_queries(1);
    d.set_heads(1);
    d.set_pe_dim(static_cast<std::uint32_t>(pe_dim));
    const float scales[] = {0.0416667f, 0.0625f, 1.0f, 0.001f, 1e-30f, 1e20f};
    SetScale(d, scales[Draw(hostile ? 6 : 4)]);
    d.set_splits(static_cast<std::uint32_t>(Draw(3) == 0 ? 1 + Draw(5) : 0));

    const int width = keys + static_cast<int>(Draw(std::min(keys + 2, 200)));
    StepImage& s = image.steps.emplace_back();
    s.kernel = Kernel::kDecode;
    s.step = &step;
    Tensor q = Dense(TensorId::kQ, BF16, {1, 1, columns});
    FillQuery(q, columns, hostile);
    Tensor indices = Dense(TensorId::kIndices, I32, {1, width});
    std::vector<std::int32_t> lanes(width, -1);
    for (int i = 0; i < keys; ++i) {
      lanes[i] = static_cast<std::int32_t>(Draw(rows));
    }
    std::shuffle(lanes.begin(), lanes.end(), random_);
    std::memcpy(indices.bytes.data(), lanes.data(), 4 * lanes.size());
    s.tensors = {q, indices};
    if (Draw(3) == 0) {
      Tensor sinks = Dense(TensorId::kSinks, F32, {1});
      const float values[] = {0.0f,   3.0f,      -2.0f,    30.0f,
                              -80.0f, -INFINITY, INFINITY, 1e30f};
      const float sink = values[Draw(hostile ? 8 : 5)];
      std::memcpy(sinks.bytes.data(), &sink, 4);
      s.tensors.push_back(sinks);
    }
    s.tensors.push_back(Dense(TensorId::kAttention, BF16, {1, 1, 512}));
    s.tensors.push_back(Dense(TensorId::kLse, F32, {1, 1}));
  }

  Step step;
  CaseImage image;

 private:
  std::uint64_t Draw(std::uint64_t n) { return random_() % n; }

  static void SetScale(Decode& d, float scale) {
    std::uint32_t bits;
    std::memcpy(&bits, &scale, 4);
    d.set_softmax_scale_bits(bits);
  }

  static Tensor Dense(TensorId id, DType dtype,
                      std::vector<std::int64_t> shape) {
    Tensor t{.id = id, .dtype = dtype};
    t.ndim = static_cast<int>(shape.size());
    std::int64_t stride = 1;
    for (int i = t.ndim - 1; i >= 0; --i) {
      t.shape[i] = shape[i];
      t.strides[i] = stride;
      stride *= shape[i];
    }
    t.bytes.resize(stride * DTypeSize(dtype));
    return t;
  }

  void FillRow(int row, bool hostile, int spread) {
    const PoolImage& pool = image.pool;
    const bool footer = pool.layout == DSV4_FOOTER_584;
    std::uint8_t* bytes = image.pool.bytes.data() + pool.RowAt(row);
    const bool nan_codes = hostile && Draw(6) == 0;
    const bool small_codes = Draw(4) == 0;
    for (int i = 0; i < (footer ? 448 : 512); ++i) {
      bytes[i] = static_cast<std::uint8_t>(random_());
      if ((bytes[i] & 0x7f) == 0x7f && !nan_codes) bytes[i] ^= 1;
      if (small_codes) bytes[i] &= 0x8f;
    }
    for (int t = 0; footer && t < 7; ++t) {
      int byte = 127 - 10 - static_cast<int>(Draw(spread + 1));
      if (hostile && Draw(3) == 0) {
        const int special[] = {0, 1, 2, 8, 127, 200, 253, 254, 255};
        byte = special[Draw(9)];
      }
      image.pool.bytes[static_cast<std::size_t>(pool.ByteAt(row, 576 + t))] =
          static_cast<std::uint8_t>(byte);
    }
    for (int t = 0; !footer && t < 4; ++t) {
      float scale =
          std::ldexp(1.0f + static_cast<float>(Draw(1 << 23)) * 0x1p-23f,
                     -10 - static_cast<int>(Draw(spread + 1)));
      if (hostile && Draw(3) == 0) {
        const float special[] = {0.0f,      -0.0f,  1.0f,  -1.0f,
                                 0x1p-126f, 1e-40f, 3e38f, INFINITY,
                                 NAN,       1e-20f, 1e20f, 2e-39f};
        scale = special[Draw(12)];
      }
      std::memcpy(bytes + 512 + 4 * t, &scale, 4);
    }
    for (int i = 0; i < 64; ++i) {
      std::uint16_t word = static_cast<std::uint16_t>(
          (random_() & 0x807f) | (0x3f00 - 0x80 * Draw(4)));
      if (hostile && Draw(400) == 0) {
        word = static_cast<std::uint16_t>(random_());
      }
      std::memcpy(bytes + (footer ? 448 : 528) + 2 * i, &word, 2);
    }
  }

  void FillQuery(Tensor& q, int columns, bool hostile) {
    const int kind = static_cast<int>(Draw(8));
    const int exponent = 120 + static_cast<int>(Draw(12));
    for (int i = 0; i < columns; ++i) {
      std::uint16_t word = static_cast<std::uint16_t>(
          (random_() & 0x807f) | ((exponent - static_cast<int>(Draw(4))) << 7));
      if (kind == 0) word &= 0x8000;           // zeros
      if (kind == 1 && i % 97 != 5) word = 0;  // nearly one-hot
      if (kind == 2) word &= 0x7fff;           // one sign
      if (kind == 3) word = Draw(2) == 0 ? 0x3f80 : 0xbf80;
      if (hostile && Draw(1500) == 0) {
        word = static_cast<std::uint16_t>(random_());
      }
      std::memcpy(q.bytes.data() + 2 * i, &word, 2);
    }
  }

  std::mt19937_64& random_;
};

// Largest error / bound of one variant and number of keys.
struct Worst {
  double out = 0, lse = 0;
  std::int64_t cases = 0, values = 0, open = 0, flagged = 0;
};

// Error over bound of one output: of the fp32 value, or, where that was rounded
// on the way (a lone bf16 partial), of the nearest number with the same bf16.
double OutRatio(const DecodeExpectation& e, int k, const EmulatedDecode& got) {
  const double exact = std::fabs(got.out[k] - e.out[k]);
  const double word = oracle::Bf16Value(got.bits[k]);
  const double half_step = std::ldexp(
      1.0, std::max(std::ilogb(word == 0 ? 0x1p-126 : word), -126) - 8);
  const double nearest = std::max(0.0, std::fabs(word - e.out[k]) - half_step);
  return (exact <= e.out_bound[k] ? exact : nearest) / e.out_bound[k];
}

class Bounds : public testing::TestWithParam<Layout> {};

TEST_P(Bounds, HoldForEveryRightKernel) {
  // 22,000 cases: 11 arithmetics, keys 1, 2 and 64, hostile scales in a
  // quarter of them; then a few of 2048 keys.
  // Of DeepSeek-V4's layout a quarter of that.
  const int kCases = GetParam() == FP8_DS_MLA ? 22000 : 5500;
  const int kLargeCases = GetParam() == FP8_DS_MLA ? 66 : 11;
  // Bazel numbers repeated runs (--runs_per_test): other cases each time.
  const char* run = std::getenv("TEST_RANDOM_SEED");
  std::mt19937_64 random(
      20251 + (run == nullptr ? 0 : std::strtoull(run, nullptr, 10)));
  std::map<std::pair<int, int>, Worst> worst;
  for (int i = 0; i < kCases + kLargeCases; ++i) {
    const int variant = i % static_cast<int>(std::size(kVariants));
    const int group = i / static_cast<int>(std::size(kVariants)) % 8;
    const int keys = i >= kCases ? 2048 : group < 4 ? 1 : (group < 7 ? 2 : 64);
    Contract contract = ContractOf(kVariants[variant], GetParam());
    const ReaderSide::ScaleRule rules[] = {
        ReaderSide::SCALE_RAW, ReaderSide::SCALE_RAW, ReaderSide::SCALE_BF16,
        ReaderSide::SCALE_POW2_FLOOR, ReaderSide::SCALE_ONE};
    contract.mutable_qk()->set_scale_rule(rules[random() % 5]);
    contract.mutable_v()->set_scale_rule(rules[random() % 5]);
    if (random() % 2 == 0) {
      contract.mutable_decode()->set_lse_base(DecodeContract::BASE_E);
      contract.mutable_decode()->set_sink(DecodeContract::SINK_NOT_IN_LSE);
    }
    for (ReaderSide* side : {contract.mutable_qk(), contract.mutable_v()}) {
      if (GetParam() != DSV4_FOOTER_584) continue;
      side->set_ue8m0_zero(random() % 2 == 0 ? ZERO_IS_ZERO
                                             : ZERO_IS_SUBNORMAL);
      side->set_ue8m0_last(random() % 2 == 0 ? LAST_IS_INF : LAST_IS_NAN);
    }
    RandomCase c(random, keys, GetParam());
    const DecodeExpectation e =
        ExpectDecode(contract, c.image, 0, c.image.pool.bytes);
    const EmulatedDecode got =
        EmulateDecode(contract, c.image, c.image.steps[0], random);
    Worst& w = worst[{variant, keys}];
    ++w.cases;
    if (!DecodeLseMatches(e, 0, got.lse[0])) ++w.flagged;
    if (std::isfinite(e.lse_bound[0]) && std::isfinite(e.lse[0]) &&
        e.lse_bound[0] > 0) {
      w.lse =
          std::max(w.lse, std::fabs(got.lse[0] - e.lse[0]) / e.lse_bound[0]);
    }
    for (int k = 0; k < kDecodeColumns; ++k) {
      ++w.values;
      if (std::isinf(e.out_bound[k])) ++w.open;
      if (!DecodeOutMatches(e, k, got.bits[k])) {
        ++w.flagged;
      }
      if (std::isfinite(e.out_bound[k]) && std::isfinite(e.out[k]) &&
          e.out_bound[k] > 0 && std::isfinite(got.out[k])) {
        w.out = std::max(w.out, OutRatio(e, k, got));
      }
    }
  }
  std::printf("%-16s %5s %7s %9s %9s %7s %8s\n", "arithmetic", "keys", "cases",
              "out e/b", "lse e/b", "open", "flagged");
  for (const auto& [key, w] : worst) {
    std::printf(
        "%-16s %5d %7ld %9.4f %9.4f %6.1f%% %8ld\n", kVariants[key.first].name,
        key.second, static_cast<long>(w.cases), w.out, w.lse,
        100.0 * static_cast<double>(w.open) / static_cast<double>(w.values),
        static_cast<long>(w.flagged));
    EXPECT_EQ(w.flagged, 0) << kVariants[key.first].name;
    EXPECT_LE(w.out, 1) << kVariants[key.first].name;
    EXPECT_LE(w.lse, 1) << kVariants[key.first].name;
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, Bounds,
                         testing::Values(FP8_DS_MLA, DSV4_FOOTER_584));

}  // namespace
}  // namespace mlafuzz
