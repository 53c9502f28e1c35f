// vllm-project/vllm tests/kernels/test_cp_gather_fp8.py: rows of E4M3 codes of
// normal values, scales uniform in [0.1, 2.1), normal rope. Columns 0..511
// within atol 1e-3 and rtol 1e-2 of bf16(code * scale), rope equal.
#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "baselines/baseline.h"
#include "baselines/closeness.h"
#include "baselines/formats.h"
#include "baselines/rows.h"

namespace mlafuzz::baselines {
namespace {

constexpr Tolerance kTolerance = {.atol = 1e-3f, .rtol = 1e-2f};
constexpr std::uint16_t kNan = 0x7fc0;

// Rows of requests, and where they lie.
struct Problem {
  PoolImage pool;
  Table table;
  std::vector<std::int32_t> starts;
  std::vector<std::int32_t> seq_starts;
  std::vector<std::int32_t> lengths;
  std::int64_t dst_rows = 0;
  // What dst holds before: the published tests pass torch.zeros, or
  // torch.empty, which is anything.
  std::uint16_t before = 0;
};

// One scale for all tiles if `scale` is not 0.
void FillRow(Random& random, float scale, std::uint8_t* row) {
  for (int i = 0; i < kLatent; ++i) row[i] = ToE4m3(random.Normal());
  for (int tile = 0; tile < kTiles; ++tile) {
    const float drawn = scale != 0 ? scale : random.Uniform() * 2.0f + 0.1f;
    std::memcpy(row + kLatent + 4 * tile, &drawn, 4);
  }
  for (int i = 0; i < kRope; ++i) {
    const std::uint16_t rope = ToBf16(random.Normal());
    std::memcpy(row + kLatent + 4 * kTiles + 2 * i, &rope, 2);
  }
}

std::int64_t SlotOf(const Problem& problem, std::size_t request,
                    std::int64_t token) {
  const std::int64_t page_size = problem.pool.page_size;
  const std::int32_t page =
      problem.table
          .pages[request * static_cast<std::size_t>(problem.table.columns) +
                 static_cast<std::size_t>(token / page_size)];
  return page * page_size + token % page_size;
}

// Pages in the order of the requests; the table's unused entries are 0.
Problem InOrder(Random& random, const std::vector<std::int32_t>& seq_lens,
                std::int64_t page_size) {
  Problem problem;
  std::int64_t pages = 0;
  for (const std::int32_t length : seq_lens) {
    const std::int64_t needed = (length + page_size - 1) / page_size;
    problem.table.columns = std::max(problem.table.columns, needed);
    pages += needed;
  }
  problem.table.rows = static_cast<std::int64_t>(seq_lens.size());
  problem.table.pages.assign(
      static_cast<std::size_t>(problem.table.rows * problem.table.columns), 0);
  problem.pool = EmptyPool(pages, page_size);
  std::int32_t page = 0;
  for (std::size_t r = 0; r < seq_lens.size(); ++r) {
    problem.starts.push_back(static_cast<std::int32_t>(problem.dst_rows));
    problem.dst_rows += seq_lens[r];
    const std::int64_t needed = (seq_lens[r] + page_size - 1) / page_size;
    for (std::int64_t i = 0; i < needed; ++i) {
      problem.table.pages[r * static_cast<std::size_t>(problem.table.columns) +
                          static_cast<std::size_t>(i)] = page++;
    }
    for (std::int64_t token = 0; token < seq_lens[r]; ++token) {
      FillRow(random, 0,
              &problem.pool.bytes[static_cast<std::size_t>(
                  problem.pool.RowAt(SlotOf(problem, r, token)))]);
    }
  }
  problem.lengths = seq_lens;
  return problem;
}

// One request whose pages are those of `pages`, in a pool of `total`.
Problem Paged(Random& random, const std::vector<std::int32_t>& pages,
              std::int64_t total, std::int64_t page_size, std::uint8_t fill,
              float scale) {
  Problem problem;
  problem.pool = EmptyPool(total, page_size);
  std::fill(problem.pool.bytes.begin(), problem.pool.bytes.end(), fill);
  problem.table = {1, static_cast<std::int64_t>(pages.size()), pages};
  problem.starts = {0};
  problem.dst_rows = problem.table.columns * page_size;
  problem.lengths = {static_cast<std::int32_t>(problem.dst_rows)};
  for (std::int64_t token = 0; token < problem.dst_rows; ++token) {
    FillRow(random, scale,
            &problem.pool.bytes[static_cast<std::size_t>(
                problem.pool.RowAt(SlotOf(problem, 0, token)))]);
  }
  return problem;
}

bool Check(SuiteRun& run, Problem problem) {
  std::vector<std::uint16_t> dst(
      static_cast<std::size_t>(problem.dst_rows) * kColumns, problem.before);
  if (!run.Holds(run.calls().Gather(problem.table, problem.starts,
                                    problem.seq_starts, &problem.pool, &dst))) {
    return false;
  }
  for (std::size_t r = 0; r < problem.lengths.size(); ++r) {
    for (std::int64_t i = 0; i < problem.lengths[r]; ++i) {
      const std::int64_t token =
          i + (problem.seq_starts.empty() ? 0 : problem.seq_starts[r]);
      const std::uint8_t* const row =
          &problem.pool.bytes[static_cast<std::size_t>(
              problem.pool.RowAt(SlotOf(problem, r, token)))];
      float values[kColumns];
      UnpackRow(row, Through::kBf16, values);
      std::uint16_t expected[kColumns];
      for (int c = 0; c < kLatent; ++c) expected[c] = ToBf16(values[c]);
      std::memcpy(expected + kLatent, row + kLatent + 4 * kTiles, 2 * kRope);
      const std::int64_t out = problem.starts[r] + i;
      const auto actual = absl::MakeConstSpan(dst).subspan(
          static_cast<std::size_t>(out) * kColumns, kColumns);
      const auto want = absl::MakeConstSpan(expected, kColumns);
      const std::string name = absl::StrCat("row ", out, " of dst");
      if (!run.Holds(WhyNotClose(name, actual.first(kLatent),
                                 want.first(kLatent), kTolerance)) ||
          // torch.equal: NaN differs from itself, -0 equals 0.
          !run.Holds(WhyNotClose(absl::StrCat(name, ", rope"),
                                 actual.subspan(kLatent), want.subspan(kLatent),
                                 {.atol = 0, .rtol = 0}))) {
        return false;
      }
    }
  }
  return true;
}

void Test(SuiteRun& run) {
  const std::vector<std::int32_t> kLists[] = {
      {1},
      {64},
      {128},
      {512},
      {256, 128, 384},
      std::vector<std::int32_t>(4, 128),
      std::vector<std::int32_t>(16, 64),
  };
  for (const std::vector<std::int32_t>& seq_lens : kLists) {
    Random random = run.StartCase(
        absl::StrCat("requests of ", absl::StrJoin(seq_lens, ", ")));
    if (!Check(run, InOrder(random, seq_lens, 64))) return;
  }
  {
    Random random = run.StartCase("pages out of order");
    if (!Check(run, Paged(random, {3, 1}, 4, 4, 0, 1.5f))) return;
  }
  {
    // The pages of four ranks with padding between; the other pages are decoys.
    Random random = run.StartCase("pages of four ranks");
    Problem problem =
        Paged(random, {2, 8, 14, 20, 0, 6, 12, 18}, 24, 64, 0xa5, 0);
    problem.before = kNan;
    if (!Check(run, std::move(problem))) return;
  }
  const std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>>
      kSlices[] = {{{6, 5, 3}, {3, 4, 5}}, {{0, 5, 3}, {12, 4, 5}}};
  for (const auto& [lengths, seq_starts] : kSlices) {
    Random random =
        run.StartCase(absl::StrCat("slices of ", absl::StrJoin(lengths, ", ")));
    Problem problem = InOrder(random, {12, 11, 9}, 4);
    problem.lengths = lengths;
    problem.seq_starts = seq_starts;
    problem.starts = {0, lengths[0], lengths[0] + lengths[1]};
    problem.dst_rows = lengths[0] + lengths[1] + lengths[2];
    problem.before = kNan;
    if (!Check(run, std::move(problem))) return;
  }
  for (const std::int32_t length : {8000, 16000, 32000, 64000, 96000, 128000}) {
    Random random = run.StartCase(absl::StrCat("a request of ", length));
    if (!Check(run, InOrder(random, {length}, 64))) return;
  }
}

}  // namespace

Baseline VllmGather() {
  return {
      .id = "vllm_gather_test",
      .source =
          "vllm-project/vllm tests/kernels/test_cp_gather_fp8.py "
          "@0e8830d2bd9fa0f8a05bf2785e55b41ebfe85753",
      .kernels = {Kernel::kGather},
      .tolerance = "columns 0..511: atol 1e-3, rtol 1e-2; rope equal",
      .cases = 17,
      .reduced = false,
      .run = Test,
  };
}

}  // namespace mlafuzz::baselines
