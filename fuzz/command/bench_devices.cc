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
                               double seconds) {
  const unsigned processors = std::max(2u, std::thread::hardware_concurrency());
  std::vector<absl::StatusOr<BenchResult>> results(
      devices.size(), absl::UnknownError("not run"));
  std::vector<std::thread> workers;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    WorkRequest request;
    *request.mutable_targets() = targets;
    request.mutable_targets()->set_device(devices[i]);
    request.set_seconds(seconds);
    request.set_fuse(kBatch);
    request.set_threads(processors / 2);
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
                          double seconds) {
  const std::uint32_t first = targets.device();
  const std::uint32_t second = first + 1;
  const auto one = Together(engine, targets, {first}, seconds);
  if (!one.ok()) return one.status();
  const auto there =
      DescribeDevice({.cuda = true, .device = static_cast<int>(second)});
  Rates two;
  if (there.ok()) {
    auto rates = Together(engine, targets, {first, second}, seconds);
    if (!rates.ok()) return rates.status();
    two = *std::move(rates);
  }
  for (const auto& [kernel, rate] : *one) {
    std::printf("devices: kernel=%s batch=%u one=%.0f two=", kernel.c_str(),
                kBatch, rate);
    if (two.empty()) {
      std::printf("not measured: one device\n");
    } else {
      std::printf("%.0f efficiency=%.2f\n", two.at(kernel),
                  two.at(kernel) / (2 * rate));
    }
  }
  return absl::OkStatus();
}

}  // namespace mlafuzz
