// The published ways of testing these kernels, on one target:
//
//   run_baseline --list
//   run_baseline --baseline=ID|all --target=NAME --seed=N
//
// prints a line of JSON for each baseline. Exit 0, or 2 with a line on stderr
// for wrong arguments. A crash that the kernels' guard cannot catch ends the
// program by its signal: as red as any.
#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "baselines/baseline.h"
#include "nlohmann/json.hpp"

namespace mlafuzz::baselines {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kUsage[] =
    "run_baseline --list, or run_baseline --baseline=ID|all --target=NAME "
    "[--seed=N]";

int Wrong(const std::string& why) {
  std::fprintf(stderr, "run_baseline: %s\n", why.c_str());
  return 2;
}

void Print(const Json& line) {
  std::puts(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
                .c_str());
  std::fflush(stdout);
}

void List() {
  for (const Baseline& baseline : Baselines()) {
    Json kernels = Json::array();
    for (const Kernel kernel : baseline.kernels) {
      kernels.push_back(KernelName(kernel));
    }
    Print({{"baseline", baseline.id},
           {"source", baseline.source},
           {"kernels", kernels},
           {"cases", baseline.cases},
           {"reduced", baseline.reduced},
           {"tolerance", baseline.tolerance}});
  }
}

absl::Status RunOne(const Baseline& baseline, const std::string& target,
                    std::uint64_t seed) {
  const absl::StatusOr<Result> result = RunBaseline(baseline, target, seed);
  if (!result.ok()) return result.status();
  Json line = {{"baseline", baseline.id}, {"target", target}, {"seed", seed}};
  if (!result->applicable) line["applicable"] = false;
  line["flagged"] = result->flagged;
  line["why"] = result->why;
  line["cases"] = result->cases;
  line["cpu_seconds"] = result->cpu_seconds;
  Print(line);
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  bool list = false;
  std::string id;
  std::string target;
  std::uint64_t seed = 1;
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    if (argument == "--list") {
      list = true;
    } else if (argument == "--help") {
      std::puts(kUsage);
      return 0;
    } else if (absl::ConsumePrefix(&argument, "--baseline=")) {
      id = std::string(argument);
    } else if (absl::ConsumePrefix(&argument, "--target=")) {
      target = std::string(argument);
    } else if (absl::ConsumePrefix(&argument, "--seed=")) {
      if (!absl::SimpleAtoi(argument, &seed)) {
        return Wrong(absl::StrCat("--seed is \"", argument,
                                  "\"; give a whole number of 64 bits"));
      }
    } else {
      return Wrong(
          absl::StrCat("unknown argument \"", argument, "\"; ", kUsage));
    }
  }
  if (list) {
    if (argc != 2) return Wrong("--list takes no other argument");
    List();
    return 0;
  }
  if (id.empty()) {
    return Wrong("no --baseline; give one that --list shows, or all");
  }
  if (target.empty()) {
    return Wrong("no --target; give a name that `mlafuzz targets` lists");
  }
  if (id != "all") {
    const absl::StatusOr<const Baseline*> baseline = FindBaseline(id);
    if (!baseline.ok()) return Wrong(std::string(baseline.status().message()));
    const absl::Status status = RunOne(**baseline, target, seed);
    return status.ok() ? 0 : Wrong(std::string(status.message()));
  }
  for (const Baseline& baseline : Baselines()) {
    const absl::Status status = RunOne(baseline, target, seed);
    if (!status.ok()) return Wrong(std::string(status.message()));
  }
  return 0;
}

}  // namespace
}  // namespace mlafuzz::baselines

int main(int argc, char** argv) { return mlafuzz::baselines::Main(argc, argv); }
