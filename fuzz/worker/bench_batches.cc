// What cases that share a call cost: by how many they are, and by their sizes.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "fuzz/worker/bench_cases.h"
#include "fuzz/worker/bench_fused.h"
#include "fuzz/worker/keep_memory.h"

namespace mlafuzz {
namespace {

constexpr std::uint64_t kLatentBytes = 2 * 512;
constexpr std::uint64_t kDenseBytes = 2 * 576;
constexpr std::uint64_t kRowBytes = 656;

// Values of 16 bits, a slot; a row.
FusedWork Writes(std::uint32_t tokens) {
  return {"writer",
          [tokens](std::uint64_t seed) { return WriteOf(tokens, seed); },
          tokens * (kDenseBytes + 8 + kRowBytes)};
}
// A row, a page number, a start; values.
FusedWork Gathers(std::uint32_t rows) {
  return {"gather", [rows](std::uint64_t seed) { return GatherOf(rows, seed); },
          rows * (kRowBytes + kDenseBytes) + 4 + 4};
}
// Indices, 16 page numbers, a request; slots, a count.
FusedWork Converts(std::uint32_t width) {
  return {"convert",
          [width](std::uint64_t seed) { return OneRowConvert(width, seed); },
          4 * (2 * width + 16 + 1 + 1)};
}
// Rows and their numbers, values of q; values, an LSE.
FusedWork Decodes(std::uint32_t heads, std::uint32_t keys) {
  return {"decode",
          [heads, keys](std::uint64_t seed) {
            return OneQueryDecode(heads, keys, seed);
          },
          keys * (kRowBytes + 4) + heads * (kDenseBytes + kLatentBytes + 4)};
}

bool Has(Session& session, Kernel kernel) {
  return session.targets().For(kernel)->Implements(kernel);
}

absl::Status Batches(Session& session, FusedBench& bench,
                     const std::vector<std::size_t>& batches,
                     BenchResult& result) {
  for (const std::size_t batch : batches) {
    const std::pair<Kernel, FusedWork> works[] = {
        {Kernel::kWriter, Writes(1)},
        {Kernel::kGather, Gathers(1)},
        {Kernel::kConvert, Converts(64)},
        {Kernel::kDecode, Decodes(1, 64)}};
    for (const auto& [kernel, work] : works) {
      if (!Has(session, kernel)) continue;
      auto fused = bench.Time(work, batch);
      if (!fused.ok()) return fused.status();
      *result.add_fused() = *std::move(fused);
    }
  }
  return absl::OkStatus();
}

absl::Status Growth(Session& session, FusedBench& bench, BenchResult& result) {
  constexpr std::size_t kBatch = 256;
  const auto grow = [&](Kernel kernel, const char* what,
                        std::initializer_list<std::uint32_t> sizes,
                        const auto& work_of) -> absl::Status {
    if (!Has(session, kernel)) return absl::OkStatus();
    for (const std::uint32_t size : sizes) {
      auto fused = bench.Time(work_of(size), kBatch);
      if (!fused.ok()) return fused.status();
      fused->set_what(absl::StrCat(size, " ", what));
      fused->set_size(size);
      *result.add_fused_growth() = *std::move(fused);
    }
    return absl::OkStatus();
  };
  if (absl::Status s =
          grow(Kernel::kWriter, "tokens", {1, 8, 64, 512}, &Writes);
      !s.ok()) {
    return s;
  }
  if (absl::Status s = grow(Kernel::kGather, "rows", {1, 8, 64, 512}, &Gathers);
      !s.ok()) {
    return s;
  }
  if (absl::Status s =
          grow(Kernel::kConvert, "indices", {64, 512, 2048}, &Converts);
      !s.ok()) {
    return s;
  }
  if (absl::Status s =
          grow(Kernel::kDecode, "keys", {64, 256, 1024},
               [](std::uint32_t keys) { return Decodes(1, keys); });
      !s.ok()) {
    return s;
  }
  return grow(Kernel::kDecode, "heads", {8, 64},
              [](std::uint32_t heads) { return Decodes(heads, 64); });
}

}  // namespace

absl::Status BenchFused(Session& session, ForeignExecutor& executor,
                        double seconds, const std::function<void()>& progress,
                        BenchResult& result) {
  auto lent =
      LentCalls::Create(session.targets(), executor,
                        static_cast<std::uint64_t>(2 * FusedBench::kMostBytes));
  if (!lent.ok()) result.set_not_lent(std::string(lent.status().message()));
  LentCalls* const calls = lent.ok() ? lent->get() : nullptr;
  KeepFreedMemory();
  FusedBench bench(session, executor, calls, seconds, /*threads=*/0, progress);
  // The largest last: a runner keeps the memory of its largest call, and
  // compares all of it.
  if (absl::Status s =
          Batches(session, bench, {1, 16, 256, 4096, 65536}, result);
      !s.ok()) {
    return s;
  }
  // Each of many figures, of which the slope counts.
  FusedBench short_bench(session, executor, calls, seconds / 4, /*threads=*/0,
                         progress);
  if (absl::Status s = Growth(session, short_bench, result); !s.ok()) return s;
  const RunnerCounts counts = executor.counts();
  result.set_device_rate(counts.device_rate);
  result.set_in_rate(counts.in_rate);
  result.set_out_rate(counts.out_rate);
  return absl::OkStatus();
}

absl::Status BenchOneBatch(Session& session, ForeignExecutor& executor,
                           std::size_t batch, int threads, double seconds,
                           const std::function<void()>& progress,
                           BenchResult& result) {
  auto lent =
      LentCalls::Create(session.targets(), executor,
                        static_cast<std::uint64_t>(2 * FusedBench::kMostBytes));
  if (!lent.ok()) return lent.status();
  KeepFreedMemory();
  FusedBench bench(session, executor, lent->get(), seconds, threads, progress);
  return Batches(session, bench, {batch}, result);
}

}  // namespace mlafuzz
