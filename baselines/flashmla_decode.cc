// deepseek-ai/FlashMLA tests/test_flash_mla_sparse_decoding.py, the cases on
// 656-byte rows: 128 of correctness, 112 of corners. Queries of normal values
// within [-1, 1], keys a tenth of that, scales of powers of two; every row that
// no index names is NaN; pages one row longer than used; tensors with gaps;
// sinks of which three in ten are +Inf and as many -Inf. Output within 1e-3 or
// 2.01/128 and a cosine difference of 5e-6, LSE within 1e-6 or 8.01/65536.
//
// Reduced: 2 and 4 heads for 64 and 128; batches of 1, 2 and 3 for 4, 74
// and 321.
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "baselines/baseline.h"
#include "baselines/closeness.h"
#include "baselines/formats.h"
#include "baselines/rows.h"

namespace mlafuzz::baselines {
namespace {

constexpr FlashMlaTolerance kOut = {
    .absolute = 1e-3f, .relative = 2.01f / 128, .cosine = 5e-6};
// The default of that comparison; LSEs' cosine is held to it.
constexpr FlashMlaTolerance kLse = {
    .absolute = 1e-6f, .relative = 8.01f / 65536, .cosine = 1e-7};
constexpr std::int64_t kGap = 128;
constexpr std::uint16_t kNan = 0x7fc0;

struct Shape {
  std::int64_t tokens;  // of a request
  std::int64_t width;
  std::int64_t page_size;
};

struct Config {
  Shape shape;
  std::int64_t heads;
  std::int64_t batch;  // published
  std::int64_t query_length;
  bool varlen;
  bool all_invalid = false;
  bool zero_lengths = false;
  bool sink = true;
};

std::int64_t BatchOf(std::int64_t published) {
  return published == 4 ? 1 : published == 74 ? 2 : 3;
}

std::uint16_t Clamped(float value) {
  return ToBf16(std::clamp(value, -1.0f, 1.0f));
}

struct Problem {
  AttentionInput input;
  PoolImage pool;
  std::vector<float> rows;
};

std::vector<std::int64_t> DrawLengths(Random& random, const Config& config,
                                      std::int64_t batch) {
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(batch),
                                    config.shape.tokens);
  const auto tokens = static_cast<double>(config.shape.tokens);
  if (config.varlen) {
    for (std::int64_t& length : lengths) {
      length = static_cast<std::int64_t>(
          std::max(tokens + tokens / 2 * random.Normal(),
                   static_cast<double>(config.query_length)));
    }
  }
  if (config.zero_lengths) {
    for (std::int64_t& length : lengths) {
      if (random.Normal() > 0) length = 0;
    }
  }
  return lengths;
}

Problem MakeProblem(Random& random, const Config& config) {
  Problem problem;
  AttentionInput& input = problem.input;
  const std::int64_t batch = BatchOf(config.batch);
  const std::int64_t page_size = config.shape.page_size;
  input.queries = batch * config.query_length;
  input.heads = config.heads / 32;
  input.width = config.shape.width;
  input.softmax_scale = static_cast<float>(std::pow(576.0, -0.55));
  input.q.resize(
      static_cast<std::size_t>(input.queries * input.heads * kColumns));
  for (std::uint16_t& value : input.q) value = Clamped(random.Normal());
  if (config.sink) {
    for (std::int64_t i = 0; i < input.heads; ++i) {
      const float sink = random.Normal();
      const float kind = random.Normal();
      constexpr float kInf = std::numeric_limits<float>::infinity();
      input.sinks.push_back(kind > 0.5f ? kInf : kind < -0.5f ? -kInf : sink);
    }
  }
  const std::vector<std::int64_t> lengths = DrawLengths(random, config, batch);
  const std::int64_t longest =
      *std::max_element(lengths.begin(), lengths.end());
  // Pages of a request, whole fours.
  const std::int64_t pages =
      std::max<std::int64_t>((longest + 4 * page_size - 1) / (4 * page_size),
                             1) *
      4;
  const auto total = static_cast<std::int32_t>(batch * pages);
  const std::vector<std::int32_t> table = random.Sample(total, total);
  std::vector<bool> used(static_cast<std::size_t>(total * page_size));
  for (std::int64_t i = 0; i < input.queries; ++i) {
    const auto request = static_cast<std::size_t>(i / config.query_length);
    const auto length = static_cast<std::int32_t>(lengths[request]);
    std::vector<std::int32_t> tokens;
    if (!config.all_invalid) {
      tokens = random.Sample(
          length, std::min(length, static_cast<std::int32_t>(input.width)));
    }
    for (std::int64_t lane = 0; lane < input.width; ++lane) {
      std::int32_t slot = -1;
      if (lane < static_cast<std::int64_t>(tokens.size())) {
        const std::int32_t token = tokens[static_cast<std::size_t>(lane)];
        const std::int32_t page =
            table[request * static_cast<std::size_t>(pages) +
                  static_cast<std::size_t>(token / page_size)];
        slot = static_cast<std::int32_t>(page * page_size + token % page_size);
      }
      // -1 counts from the end there, which leaves the last row as it is.
      used[slot < 0 ? used.size() - 1 : static_cast<std::size_t>(slot)] = true;
      input.indices.push_back(slot);
    }
  }
  problem.pool = EmptyPool(total, page_size, 1);
  std::uint16_t values[kColumns];
  for (std::int64_t slot = 0; slot < problem.pool.slots(); ++slot) {
    for (std::uint16_t& value : values) {
      value = used[static_cast<std::size_t>(slot)]
                  ? Clamped(RoundToBf16(RoundToBf16(random.Normal()) / 10))
                  : kNan;
    }
    PackRow(values, TileScale::kPow2, 0,
            &problem.pool
                 .bytes[static_cast<std::size_t>(problem.pool.RowAt(slot))]);
  }
  problem.rows = UnpackPool(problem.pool, Through::kBf16);
  return problem;
}

std::vector<float> Floats(const std::vector<std::uint16_t>& bf16) {
  std::vector<float> values;
  values.reserve(bf16.size());
  for (const std::uint16_t bits : bf16) values.push_back(FromBf16(bits));
  return values;
}

bool Check(SuiteRun& run, const Config& config) {
  Random random = run.StartCase(absl::StrCat(
      config.batch, " requests of ", config.query_length, " queries, ",
      config.heads, " heads, ", config.shape.tokens, " tokens, top-k ",
      config.shape.width, ", pages of ", config.shape.page_size,
      config.varlen ? ", lengths vary" : "",
      config.all_invalid ? ", no valid index" : "",
      config.zero_lengths ? ", lengths of 0" : "",
      config.sink ? ", sinks" : ""));
  Problem problem = MakeProblem(random, config);
  const auto rows =
      static_cast<std::size_t>(problem.input.queries * problem.input.heads);
  // torch.empty: anything, but not what is expected.
  AttentionOutput actual;
  actual.out.assign(rows * kLatent, kNan);
  actual.lse.assign(rows, std::numeric_limits<float>::quiet_NaN());
  if (!run.Holds(
          run.calls().Decode(problem.input, &problem.pool, &actual, kGap))) {
    return false;
  }
  // Published for one kernel's LSE: natural, without the sink, +Inf for no
  // keys. Another kernel is held to its own.
  const AttentionOutput expected =
      Attend(problem.input, problem.rows,
             LseFormOf(run.contract(Kernel::kDecode).decode()));
  return run.Holds(WhyNotFlashMlaClose("out", Floats(actual.out),
                                       Floats(expected.out), kOut)) &&
         run.Holds(WhyNotFlashMlaClose("lse", actual.lse, expected.lse, kLse));
}

// Full batches alone are also run with lengths all alike.
std::vector<bool> Varlens(std::int64_t batch) {
  return batch == 74 ? std::vector<bool>{true, false} : std::vector<bool>{true};
}

constexpr std::int64_t kHeads[] = {64, 128};
constexpr std::int64_t kBatches[] = {4, 74, 321};

bool Correctness(SuiteRun& run, std::int64_t heads) {
  constexpr Shape kShapes[] = {
      {512, 64, 2},    {512, 64, 64},   {512, 64, 69},    {1024, 576, 2},
      {1024, 576, 61}, {2046, 2048, 2}, {2046, 2048, 64}, {2046, 2048, 576},
  };
  for (const Shape& shape : kShapes) {
    for (const std::int64_t batch : kBatches) {
      for (const std::int64_t query_length : {1, 3}) {
        for (const bool varlen : Varlens(batch)) {
          if (!Check(run, {shape, heads, batch, query_length, varlen})) {
            return false;
          }
        }
      }
    }
  }
  return true;
}

bool Corners(SuiteRun& run, std::int64_t heads) {
  constexpr Shape kShapes[] = {{512, 64, 61}, {650, 576, 53}};
  for (const Shape& shape : kShapes) {
    for (const std::int64_t batch : kBatches) {
      for (const bool varlen : Varlens(batch)) {
        for (const bool all_invalid : {true, false}) {
          for (const bool zero_lengths : {true, false}) {
            for (const bool sink : {true, false}) {
              if (!all_invalid && !zero_lengths && !sink) continue;
              if (!Check(run, {shape, heads, batch, 3, varlen, all_invalid,
                               zero_lengths, sink})) {
                return false;
              }
            }
          }
        }
      }
    }
  }
  return true;
}

void Test(SuiteRun& run) {
  for (const std::int64_t heads : kHeads) {
    if (!Correctness(run, heads)) return;
  }
  for (const std::int64_t heads : kHeads) {
    if (!Corners(run, heads)) return;
  }
}

}  // namespace

Baseline FlashMlaDecode() {
  return {
      .id = "flashmla_decode_test",
      .source =
          "deepseek-ai/FlashMLA tests/test_flash_mla_sparse_decoding.py "
          "@9241ae3ef9bac614dd25e45e507e089f888280e0",
      .kernels = {Kernel::kDecode},
      .tolerance =
          "output: 1e-3 or 2.01/128, cosine difference 5e-6; "
          "LSE: 1e-6 or 8.01/65536",
      .cases = 240,
      .reduced = true,
      .run = Test,
  };
}

}  // namespace mlafuzz::baselines
