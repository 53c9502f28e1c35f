#include "fuzz/command/bench_devices.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "fuzz/campaign/one_shot.h"
#include "kernels/foreign/foreign_target.h"

namespace mlafuzz {
namespace {

constexpr std::uint32_t kBatch = 4096;

using Rates = std::map<std::string, double>;  // cases/s, by kernel

// Workers at once, one a device: what all of them judge.
absl::StatusOr<Rates> Together(const Engine& engine, const Targets& targets,
                               const std::vector<std::uint32_t>& devices,
                               unsigned threads, double seconds) {
  std::vector<absl::StatusOr<BenchResult>> results(
      devices.size(), absl::UnknownError("not run"));
  std::vector<std::thread> workers;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    WorkRequest request;
    *request.mutable_targets() = targets;
    request.mutable_targets()->set_device(devices[i]);
    request.set_seconds(seconds);
    request.set_fuse(kBatch);
    request.set_threads(threads);
    workers.emplace_back([&engine, &results, i, request] {
      results[i] = BenchInWorker(engine, request);
    });
  }
  for (std::thread& worker : workers) worker.join();
  Rates rates;
  for (const absl::StatusOr<BenchResult>& result : results) {
    if (!result.ok()) return result.status();
    for (const BenchResult::Fused& fused : result->fused()) {
      rates[fused.kernel()] += fused.mean_cases_per_second();
    }
  }
  return rates;
}

}  // namespace

absl::Status PrintDevices(const Engine& engine, const Targets& targets,
                          const std::vector<std::uint32_t>& devices,
                          double seconds) {
  const auto count = static_cast<unsigned>(devices.size());
  // With one device, as it would be with two.
  const unsigned threads =
      std::max(1u, std::thread::hardware_concurrency() / std::max(2u, count));
  const auto one = Together(engine, targets, {devices[0]}, threads, seconds);
  if (!one.ok()) return one.status();
  Rates all;
  if (count > 1) {
    auto rates = Together(engine, targets, devices, threads, seconds);
    if (!rates.ok()) return rates.status();
    all = *std::move(rates);
  }
  for (const auto& [kernel, rate] : *one) {
    std::printf("devices: kernel=%s batch=%u threads=%u one=%.0f ",
                kernel.c_str(), kBatch, threads, rate);
    if (all.empty()) {
      std::printf("more=not measured: one device\n");
    } else {
      std::printf("devices=%u all=%.0f efficiency=%.2f\n", count,
                  all.at(kernel), all.at(kernel) / (count * rate));
    }
  }
  return absl::OkStatus();
}

std::vector<std::uint32_t> TwoDevices(const Targets& targets) {
  std::vector<std::uint32_t> devices = {targets.device()};
  const std::uint32_t next = targets.device() + 1;
  const auto there =
      DescribeDevice({.cuda = true, .device = static_cast<int>(next)});
  if (there.ok()) devices.push_back(next);
  return devices;
}

}  // namespace mlafuzz
