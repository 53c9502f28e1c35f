#include "kernels/decode/test_support.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "gtest/gtest.h"
#include "kernels/decode/decode.h"
#include "kernels/test_support.h"

namespace mlafuzz::test {
namespace {

constexpr double kLog2E = 1.4426950408889634;
constexpr double kInf = std::numeric_limits<double>::infinity();

std::uint16_t RandomBf16(Bytes& bytes, float magnitude) {
  const float unit =
      static_cast<float>(bytes.Next() & 0xffff) * 0x1p-15f - 1.0f;
  return static_cast<std::uint16_t>(NearestBf16(unit * magnitude));
}

// A heap block of exactly these bytes, aligned as a cache must be.
template <class T>
class Copy {
 public:
  explicit Copy(const std::vector<T>& values)
      : values_(values), data_(new(std::align_val_t(16)) T[values.size()]) {
    std::copy(values.begin(), values.end(), data_);
  }
  ~Copy() { ::operator delete[](data_, std::align_val_t(16)); }
  Copy(const Copy&) = delete;

  T* data() { return data_; }
  bool unchanged() const {
    return values_.empty() ||
           std::memcmp(data_, values_.data(), values_.size() * sizeof(T)) == 0;
  }
  std::vector<T> now() const { return {data_, data_ + values_.size()}; }

 private:
  const std::vector<T>& values_;
  T* data_;
};

struct View {
  View(void* data, DLDataType type, std::vector<std::int64_t> dimensions)
      : shape(std::move(dimensions)), strides(shape.size(), 1) {
    for (std::size_t i = shape.size() - 1; i > 0; --i) {
      strides[i - 1] = strides[i] * shape[i];
    }
    tensor = {data, {kDLCPU, 0},  static_cast<int>(shape.size()),
              type, shape.data(), strides.data(),
              0};
  }
  View(const View&) = delete;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  DLTensor tensor;
};

constexpr DLDataType kBf16 = {kDLBfloat, 16, 1};
constexpr DLDataType kFloat = {kDLFloat, 32, 1};
constexpr DLDataType kInt32 = {kDLInt, 32, 1};
constexpr DLDataType kUint8 = {kDLUInt, 8, 1};

// ------------------------------------------------------------------ Reference

double ReadScale(kernels::ScaleRule rule, float stored) {
  switch (rule) {
    case kernels::ScaleRule::kPow2Floor:
      return std::exp2(std::floor(std::log2(stored)));
    case kernels::ScaleRule::kBf16:
      return Bf16Value(NearestBf16(stored));
    case kernels::ScaleRule::kRaw:
      break;
  }
  return stored;
}

bool IsE4m3(const DecodeOptions& options) {
  return options.arithmetic != DecodeArithmetic::kBf16;
}

// A row as one side reads it: 512 values.
std::vector<double> RowValues(const std::uint8_t* row, kernels::ScaleRule rule,
                              bool round) {
  std::vector<double> values(512);
  for (int i = 0; i < 512; ++i) {
    float stored;
    std::memcpy(&stored, row + 512 + i / 128 * 4, 4);
    const double exact = E4m3Value(row[i]) * ReadScale(rule, stored);
    values[static_cast<std::size_t>(i)] =
        round ? Bf16Value(NearestBf16(static_cast<float>(exact))) : exact;
  }
  return values;
}

std::vector<double> QueryValues(const Problem& problem, std::int64_t at,
                                bool quantise) {
  const std::int64_t columns = 512 + problem.pe_dim;
  std::vector<double> q(static_cast<std::size_t>(columns));
  for (std::size_t i = 0; i < q.size(); ++i) {
    q[i] = Bf16Value(problem.q[static_cast<std::size_t>(at * columns) + i]);
  }
  if (!quantise) return q;
  for (auto tile = q.begin(); tile != q.begin() + 512; tile += 128) {
    double amax = 1e-4;
    for (int i = 0; i < 128; ++i) amax = std::max(amax, std::fabs(tile[i]));
    const double scale = std::exp2(std::ceil(std::log2(amax / 448)));
    for (int i = 0; i < 128; ++i) {
      tile[i] = E4m3Value(NearestE4m3(tile[i] / scale)) * scale;
    }
  }
  return q;
}

struct Key {
  double score;  // base 2
  double error;  // of it
  std::int64_t slot;
};

// One query and head.
void ReferenceRow(const Problem& problem, const DecodeOptions& options,
                  std::int64_t at, Interval* out, Interval* lse) {
  const std::int64_t query = at / problem.heads;
  const bool e4m3 = IsE4m3(options);
  const std::vector<double> q = QueryValues(problem, at, e4m3);
  const double scale_log2 = problem.softmax_scale * kLog2E;
  std::vector<Key> keys;
  double max = -kInf;
  for (std::int64_t lane = 0; lane < problem.width; ++lane) {
    const auto place = static_cast<std::size_t>(query * problem.width + lane);
    const std::int32_t slot = problem.indices[place];
    if (slot < 0) continue;
    if (!problem.lengths.empty() &&
        lane >= problem.lengths[static_cast<std::size_t>(query)]) {
      continue;
    }
    const std::uint8_t* row = problem.Row(slot);
    std::vector<double> k = RowValues(row, options.qk_scale, !e4m3);
    for (int i = 0; i < problem.pe_dim; ++i) {
      std::uint16_t bits;
      std::memcpy(&bits, row + 528 + 2 * i, 2);
      k.push_back(Bf16Value(bits));
    }
    double dot = 0;
    double magnitude = 0;
    for (std::size_t i = 0; i < k.size(); ++i) {
      dot += q[i] * k[i];
      magnitude += std::fabs(q[i] * k[i]);
    }
    // 576 sums and products, the scale, and the score's own rounding.
    keys.push_back({dot * scale_log2,
                    (576 + 4) * 0x1p-24 * magnitude * std::fabs(scale_log2),
                    slot});
    max = std::max(max, keys.back().score);
  }
  const double natural =
      problem.sinks.empty()
          ? -kInf
          : problem.sinks[static_cast<std::size_t>(at % problem.heads)];
  const double sink = natural * kLog2E;
  for (int c = 0; c < 512; ++c) out[c] = {0, 0};
  if (keys.empty()) {
    const bool only_sink = options.sink_in_lse && sink > -kInf;
    const double value = only_sink                ? sink
                         : options.empty_plus_inf ? kInf
                                                  : -kInf;
    *lse = {options.lse_base_e ? value / kLog2E : value,
            std::isinf(value) ? 0 : 0x1p-22 * std::fabs(value)};
    return;
  }
  double sum = 0;
  double error = 0;  // largest of any score; relative of a weight, times ln 2
  for (const Key& key : keys) {
    sum += std::exp2(key.score - max);
    error = std::max(error, key.error);
  }
  // Rounding of a score and of its difference to a maximum, exp2, and a step
  // for each term of a sum, block and split.
  const double steps = 24 + 2.0 * static_cast<double>(keys.size());
  const double relative =
      error / kLog2E + (steps + 2 * std::fabs(max)) * 0x1p-23;
  const double keys_lse = max + std::log2(sum);
  const double top = std::max(keys_lse, sink);
  const double all_lse =
      std::isinf(top)
          ? top
          : top + std::log2(std::exp2(keys_lse - top) + std::exp2(sink - top));
  const double stored = options.sink_in_lse ? all_lse : keys_lse;
  const double unit = options.lse_base_e ? 1 / kLog2E : 1;
  *lse = {
      stored * unit,
      std::isinf(stored)
          ? 0
          : (relative * kLog2E + 0x1p-21 * std::fabs(stored)) * unit * 1.01};
  const double share =
      std::isinf(sink) ? (sink > 0 ? 0 : 1) : std::exp2(keys_lse - all_lse);
  const double share_error =
      std::isinf(sink) ? 0 : 0x1p-21 * (1 + std::fabs(sink));

  std::vector<double> weight_scale(4, 1e-10 / 448);
  std::vector<std::vector<double>> values;
  std::vector<std::vector<double>> weights;  // what meets a tile's codes
  for (const Key& key : keys) {
    values.push_back(RowValues(problem.Row(key.slot), options.v_scale, !e4m3));
    std::vector<double> tiles(4);
    for (std::size_t tile = 0; tile < 4; ++tile) {
      float scale;
      std::memcpy(&scale, problem.Row(key.slot) + 512 + 4 * tile, 4);
      tiles[tile] = std::exp2(key.score - max) *
                    std::fabs(ReadScale(options.v_scale, scale));
      weight_scale[tile] = std::max(weight_scale[tile], tiles[tile] / 448);
    }
    weights.push_back(std::move(tiles));
  }
  for (int c = 0; c < 512; ++c) {
    const auto column = static_cast<std::size_t>(c);
    double value = 0;
    double magnitude = 0;
    double rounding = 0;
    for (std::size_t k = 0; k < keys.size(); ++k) {
      const double weight = std::exp2(keys[k].score - max);
      value += weight * values[k][column];
      magnitude += std::fabs(weight * values[k][column]);
      if (!e4m3) {
        rounding += 0x1p-8 * std::fabs(weight * values[k][column]);
        continue;
      }
      const double step =
          options.arithmetic == DecodeArithmetic::kE4m3 ? 0x1p-4 : 0x1p-8;
      const std::uint8_t code = problem.Row(keys[k].slot)[c];
      rounding += std::fabs(E4m3Value(code)) *
                  std::max(step * weights[k][column / 128],
                           0x1p-10 * weight_scale[column / 128]);
    }
    double bound = rounding + 2 * relative * magnitude;
    if (options.bf16_partials) bound += 0x1p-8 * (magnitude + bound);
    bound = (bound / sum + share_error * magnitude / sum) * share;
    out[c].value = value / sum * share;
    // bf16 of what is as far off as that; the smallest bf16 is 2^-133.
    out[c].bound =
        1.01 * (bound + 0x1p-8 * (std::fabs(out[c].value) + bound)) + 0x1p-134;
  }
}

}  // namespace

Problem RandomProblem(std::uint64_t seed, std::int64_t queries,
                      std::int64_t heads, std::int64_t width,
                      std::int64_t pe_dim) {
  Bytes bytes(seed);
  Problem problem;
  problem.queries = queries;
  problem.heads = heads;
  problem.pe_dim = pe_dim;
  problem.width = width;
  const std::int64_t rows = (width + 11) / 4 * 4;
  problem.cache.resize(static_cast<std::size_t>(rows * 656));
  for (std::int64_t slot = 0; slot < rows; ++slot) {
    std::uint8_t* row = problem.Row(slot);
    for (int i = 0; i < 512; ++i) {
      const std::uint32_t code = bytes.Next() & 0xff;
      row[i] = static_cast<std::uint8_t>((code & 0x7f) == 0x7f ? 0x38 : code);
    }
    for (int tile = 0; tile < 4; ++tile) {
      const float scale = std::bit_cast<float>(
          (127 - 10 + bytes.Next() % 3) << 23 | (bytes.Next() & 0x7fffff));
      std::memcpy(row + 512 + 4 * tile, &scale, 4);
    }
    for (int i = 0; i < 64; ++i) {
      const std::uint16_t rope = RandomBf16(bytes, 1.0f);
      std::memcpy(row + 528 + 2 * i, &rope, 2);
    }
  }
  problem.q.resize(static_cast<std::size_t>(queries * heads * (512 + pe_dim)));
  for (std::uint16_t& value : problem.q) value = RandomBf16(bytes, 8.0f);
  for (std::int64_t i = 0; i < queries * width; ++i) {
    problem.indices.push_back(
        static_cast<std::int32_t>((i % width * 7 + i / width * 3 + 1) % rows));
  }
  return problem;
}

bool Same(const Answer& a, const Answer& b) {
  return a.result.status == b.result.status && a.out == b.out &&
         a.lse.size() == b.lse.size() &&
         (a.lse.empty() || std::memcmp(a.lse.data(), b.lse.data(),
                                       a.lse.size() * sizeof(float)) == 0);
}

Answer Run(const Problem& problem, const DecodeFunction& decode,
           std::uint64_t schedule) {
  const auto outputs =
      static_cast<std::size_t>(problem.queries * problem.heads);
  const std::vector<std::uint16_t> out(outputs * 512, 0x5a5a);
  const std::vector<float> lse(outputs, std::bit_cast<float>(0x5a5a5a5a));
  Copy<std::uint8_t> cache(problem.cache);
  Copy<std::uint16_t> q(problem.q);
  Copy<std::int32_t> indices(problem.indices);
  Copy<std::int32_t> lengths(problem.lengths);
  Copy<float> sinks(problem.sinks);
  Copy<std::uint16_t> got_out(out);
  Copy<float> got_lse(lse);
  const std::int64_t page = problem.page_size;
  View cache_view(cache.data(), kUint8, {problem.rows() / page, page, 656});
  View q_view(q.data(), kBf16,
              {problem.queries, problem.heads, 512 + problem.pe_dim});
  View indices_view(indices.data(), kInt32,
                    {static_cast<std::int64_t>(problem.indices.size()) /
                         std::max<std::int64_t>(problem.width, 1),
                     problem.width});
  if (problem.width == 0) indices_view.shape[0] = problem.queries;
  View lengths_view(lengths.data(), kInt32,
                    {static_cast<std::int64_t>(problem.lengths.size())});
  View sinks_view(sinks.data(), kFloat,
                  {static_cast<std::int64_t>(problem.sinks.size())});
  View out_view(got_out.data(), kBf16, {problem.queries, problem.heads, 512});
  View lse_view(got_lse.data(), kFloat, {problem.queries, problem.heads});
  const DecodeArgs args = {
      .layout = FP8_DS_MLA,
      .cache = &cache_view.tensor,
      .q = &q_view.tensor,
      .indices = &indices_view.tensor,
      .lengths = problem.lengths.empty() ? nullptr : &lengths_view.tensor,
      .sinks = problem.sinks.empty() ? nullptr : &sinks_view.tensor,
      .out = &out_view.tensor,
      .lse = &lse_view.tensor,
      .softmax_scale = problem.softmax_scale,
      .splits = problem.splits,
      .declared_topk = problem.declared_topk,
      .query_length = 1,
  };
  Answer answer;
  answer.result = decode(args, {.schedule = schedule, .stream = nullptr});
  EXPECT_TRUE(cache.unchanged() && q.unchanged() && indices.unchanged() &&
              lengths.unchanged() && sinks.unchanged());
  answer.out = got_out.now();
  answer.lse = got_lse.now();
  return answer;
}

Answer Run(const Problem& problem, const DecodeOptions& options,
           std::uint64_t schedule) {
  return Run(
      problem,
      [&](const DecodeArgs& args, const LaunchContext& context) {
        return RunDecode(args, context, options);
      },
      schedule);
}

Expected Reference(const Problem& problem, const DecodeOptions& options) {
  const auto outputs =
      static_cast<std::size_t>(problem.queries * problem.heads);
  Expected expected;
  expected.out.resize(outputs * 512);
  expected.lse.resize(outputs);
  for (std::size_t at = 0; at < outputs; ++at) {
    ReferenceRow(problem, options, static_cast<std::int64_t>(at),
                 &expected.out[at * 512], &expected.lse[at]);
  }
  return expected;
}

void ExpectNear(const Answer& answer, const Expected& expected) {
  ASSERT_EQ(answer.result.status, CallStatus::kOk) << answer.result.message;
  ASSERT_EQ(answer.out.size(), expected.out.size());
  for (std::size_t i = 0; i < expected.out.size(); ++i) {
    const auto& [value, bound] = expected.out[i];
    ASSERT_FALSE((answer.out[i] & 0x7f80) == 0x7f80)
        << "out[" << i << "] is not finite";
    ASSERT_LE(std::fabs(Bf16Value(answer.out[i]) - value), bound)
        << "out[" << i << "] should be " << value;
  }
  for (std::size_t i = 0; i < expected.lse.size(); ++i) {
    const auto& [value, bound] = expected.lse[i];
    if (std::isinf(value)) {
      ASSERT_EQ(answer.lse[i], value) << "lse[" << i << "]";
    } else {
      ASSERT_LE(std::fabs(answer.lse[i] - value), bound)
          << "lse[" << i << "] should be " << value;
    }
  }
}

}  // namespace mlafuzz::test
