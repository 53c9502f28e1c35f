// flashinfer-ai/flashinfer tests/attention/test_sparse_mla_sm120.py, the tests
// on 656-byte rows: keys and queries of N(0, 0.1), so that outputs are means
// near 0.01; output and LSE within atol = rtol = 5e-2 of dense attention over
// the dequantised rows. The first half of each row of indices are keys.
//
// Reduced: heads beyond what makes 64 rows (queries times heads) of a case are
// left out, but never all. More than 64 queries take FlashInfer's prefill
// kernel: 65 and 96 of them stand for 128 and 256. Cases that become the same
// by that are run once.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "baselines/baseline.h"
#include "baselines/closeness.h"
#include "baselines/formats.h"
#include "baselines/rows.h"

namespace mlafuzz::baselines {
namespace {

constexpr Tolerance kTolerance = {.atol = 5e-2f, .rtol = 5e-2f};
// torch.testing's own for fp32 and bf16 where a test gives none.
constexpr Tolerance kDefaultFp32 = {.atol = 1e-5f, .rtol = 1.3e-6f};
constexpr Tolerance kDefaultBf16 = {.atol = 1e-5f, .rtol = 1.6e-2f};
constexpr std::int64_t kMostRows = 64;
constexpr std::int64_t kPageSize = 64;

enum class Mask { kHalf, kNone };

struct Shape {
  const char* kind;
  TileScale scales;
  std::int64_t pages;
  std::int64_t queries;  // published, as are the heads
  std::int64_t heads;
  std::int64_t width;
  bool sink;
  Mask mask = Mask::kHalf;
  bool compares_lse = true;
};

std::int64_t QueriesOf(std::int64_t published) {
  return published == 128 ? 65 : published == 256 ? 96 : published;
}

std::int64_t HeadsOf(std::int64_t queries, std::int64_t heads) {
  return std::clamp<std::int64_t>(kMostRows / queries, 1, heads);
}

// A normal number over 10 within [-1, 1], each step in bf16.
std::uint16_t Tenth(Random& random) {
  const float tenth = RoundToBf16(RoundToBf16(random.Normal()) / 10);
  return ToBf16(std::clamp(tenth, -1.0f, 1.0f));
}

// A pool, as the tests' own packers fill it.
struct Keys {
  PoolImage pool;
  std::vector<float> rows;
};

Keys MakeKeys(Random random, std::int64_t pages, TileScale scales) {
  Keys keys;
  keys.pool = EmptyPool(pages, kPageSize);
  std::uint16_t values[kColumns];
  for (std::int64_t slot = 0; slot < keys.pool.slots(); ++slot) {
    for (std::uint16_t& value : values) value = Tenth(random);
    PackRow(values, scales, 1e-4f,
            &keys.pool.bytes[static_cast<std::size_t>(keys.pool.RowAt(slot))]);
  }
  keys.rows = UnpackPool(keys.pool, Through::kBf16);
  return keys;
}

AttentionInput MakeInput(Random& random, const Shape& shape) {
  AttentionInput input;
  input.queries = QueriesOf(shape.queries);
  input.heads = HeadsOf(input.queries, shape.heads);
  input.width = shape.width;
  input.softmax_scale = static_cast<float>(1 / std::sqrt(576.0));
  input.q.resize(
      static_cast<std::size_t>(input.queries * input.heads * kColumns));
  for (std::uint16_t& value : input.q) value = Tenth(random);
  const auto slots = static_cast<std::uint32_t>(shape.pages * kPageSize);
  for (std::int64_t i = 0; i < input.queries; ++i) {
    for (std::int64_t lane = 0; lane < input.width; ++lane) {
      const auto slot = static_cast<std::int32_t>(random.Below(slots));
      input.indices.push_back(
          shape.mask == Mask::kHalf && lane >= input.width / 2 ? -1 : slot);
    }
  }
  if (shape.sink) {
    for (std::int64_t i = 0; i < input.heads; ++i) {
      input.sinks.push_back(random.Normal() * 2);
    }
  }
  return input;
}

AttentionOutput Zeros(const AttentionInput& input) {
  AttentionOutput output;
  const auto rows = static_cast<std::size_t>(input.queries * input.heads);
  output.out.assign(rows * kLatent, 0);
  output.lse.assign(rows, 0);
  return output;
}

bool Check(SuiteRun& run, const Shape& shape, Keys& keys) {
  Random random = run.StartCase(
      absl::StrCat(shape.kind, ", ", shape.queries, " queries, ", shape.heads,
                   " heads", shape.sink ? ", sinks" : ""));
  const AttentionInput input = MakeInput(random, shape);
  const AttentionOutput expected = Attend(
      input, keys.rows, LseFormOf(run.contract(Kernel::kDecode).decode()));
  AttentionOutput actual = Zeros(input);
  return run.Holds(run.calls().Decode(input, &keys.pool, &actual)) &&
         run.Holds(WhyNotClose("out", actual.out, expected.out, kTolerance)) &&
         (!shape.compares_lse ||
          run.Holds(WhyNotClose("lse", actual.lse, expected.lse, kTolerance)));
}

// Lengths of zero: no index is looked at. Outputs are torch.empty.
bool CheckZeroLengths(SuiteRun& run) {
  run.StartCase("prefill, lengths of 0");
  AttentionInput input;
  input.queries = 128;
  input.heads = 8;
  input.width = 2048;
  input.softmax_scale = static_cast<float>(1 / std::sqrt(576.0));
  input.q.assign(128 * 8 * kColumns, 0);
  Random random = run.Shared();
  for (std::uint16_t& value : input.q) value = Tenth(random);
  input.indices.assign(128 * 2048, 1'000'000);
  input.lengths.assign(128, 0);
  PoolImage pool = EmptyPool(1, kPageSize);
  AttentionOutput actual;
  actual.out.assign(128 * 8 * kLatent, 0x7fc0);
  actual.lse.assign(128 * 8, std::numeric_limits<float>::quiet_NaN());
  const AttentionOutput expected =
      Attend(input, {}, LseFormOf(run.contract(Kernel::kDecode).decode()));
  // The published LSE is that kernel's own sentinel. It passes whatever a
  // target promises; what it promises passes too.
  const std::vector<float> published(expected.lse.size(), -1e30f);
  return run.Holds(run.calls().Decode(input, &pool, &actual)) &&
         run.Holds(
             WhyNotClose("out", actual.out, expected.out, kDefaultBf16)) &&
         (WhyNotClose("lse", actual.lse, published, kDefaultFp32).empty() ||
          run.Holds(
              WhyNotClose("lse", actual.lse, expected.lse, kDefaultFp32)));
}

// The published cases with outputs, in their order.
std::vector<Shape> PublishedShapes() {
  std::vector<Shape> shapes;
  const auto add = [&](const char* kind, std::vector<std::int64_t> queries) {
    for (const std::int64_t heads : {8, 16, 32, 64, 128}) {
      for (const std::int64_t count : queries) {
        for (const bool sink : {false, true}) {
          shapes.push_back(
              {kind, TileScale::kPow2, 64, count, heads, 2048, sink});
        }
      }
    }
  };
  add("decode", {1, 16, 64});
  // The tests of the HND view: one KV head, so the bytes are the same.
  shapes.push_back({"decode through the public call", TileScale::kPow2, 4, 4, 8,
                    128, false, Mask::kNone, false});
  shapes.push_back({"prefill through the public call", TileScale::kPow2, 64,
                    128, 8, 2048, false, Mask::kNone, false});
  add("prefill", {128, 256});
  shapes.push_back(
      {"decode, raw scales", TileScale::kRaw, 16, 16, 16, 512, false});
  for (const std::int64_t heads : {8, 32}) {
    shapes.push_back(
        {"prefill, raw scales", TileScale::kRaw, 64, 128, heads, 2048, false});
  }
  return shapes;
}

// Those that differ as they are run.
std::vector<Shape> ShapesToRun() {
  std::vector<Shape> shapes;
  std::set<std::tuple<std::string, std::int64_t, std::int64_t, bool>> seen;
  for (const Shape& shape : PublishedShapes()) {
    const std::int64_t queries = QueriesOf(shape.queries);
    if (seen.emplace(shape.kind, queries, HeadsOf(queries, shape.heads),
                     shape.sink)
            .second) {
      shapes.push_back(shape);
    }
  }
  return shapes;
}

void Test(SuiteRun& run) {
  // Every test seeds torch alike and draws the keys first, so all cases of one
  // size and packing share them.
  std::map<std::pair<std::int64_t, TileScale>, Keys> keys;
  for (const Shape& shape : ShapesToRun()) {
    const auto [it, is_new] = keys.try_emplace({shape.pages, shape.scales});
    if (is_new) it->second = MakeKeys(run.Shared(), shape.pages, shape.scales);
    if (!Check(run, shape, it->second)) return;
  }
  CheckZeroLengths(run);
}

}  // namespace

Baseline FlashInferSm120() {
  return {
      .id = "flashinfer_sm120_test",
      .source =
          "flashinfer-ai/flashinfer "
          "tests/attention/test_sparse_mla_sm120.py "
          "@fb28d7242b3506a2348265962041acc1fb56cca4",
      .kernels = {Kernel::kDecode},
      .tolerance = "output and LSE: atol 5e-2, rtol 5e-2",
      .cases = static_cast<int>(ShapesToRun().size()) + 1,
      .reduced = true,
      .run = Test,
  };
}

}  // namespace mlafuzz::baselines
