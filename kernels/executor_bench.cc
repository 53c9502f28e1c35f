// Processor time of a case on the host backend, from its image on.
//
//   bazel run -c opt //kernels:executor_bench
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "corpus/token_layout.h"
#include "google/protobuf/text_format.h"
#include "kernels/executor.h"

namespace mlafuzz {
namespace {

// Other programs on the machine count little in it.
double ProcessorMicroseconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e6 * static_cast<double>(now.tv_sec) +
         1e-3 * static_cast<double>(now.tv_nsec);
}

double Microseconds(const TargetSet& targets, const std::string& text) {
  Case c;
  if (!google::protobuf::TextFormat::ParseFromString(text, &c)) return -1;
  const CaseImage image = BuildImage(c).value();
  const auto executor = MakeHostExecutor();
  std::vector<Observation> observations;
  std::vector<double> rounds;
  for (int round = 0; round < 15; ++round) {
    constexpr int kRuns = 300;
    const double begin = ProcessorMicroseconds();
    for (int i = 0; i < kRuns; ++i) {
      if (!executor->Run(targets, {&image, 1}, &observations).ok()) return -1;
    }
    rounds.push_back((ProcessorMicroseconds() - begin) / kRuns);
  }
  std::sort(rounds.begin(), rounds.end());
  return rounds[rounds.size() / 2];
}

// Writer and gather of each layout, 64 tokens of one page.
void PrintLayouts() {
  std::printf("\n%-20s %12s %12s %24s\n", "64 tokens", "writer us", "gather us",
              "ns a value, both");
  for (const TokenLayout& layout : TokenLayouts()) {
    const char* target = "builtin";
    switch (layout.layout) {
      case NOPE_ROW_528:
        target = "builtin:nope-row";
        break;
      case DSV4_FOOTER_584:
        target = "builtin:dsv4";
        break;
      case DSV4_1_FOOTER_528:
        target = "builtin:dsv4_1";
        break;
      case INDEXER_132:
        target = "builtin:indexer";
        break;
      case INDEXER_264:
        target = "builtin:indexer-256";
        break;
      default:
        break;
    }
    const std::string pool =
        "pool { page_size: 64 pages: 1 fill { kind: ROWS } layout: " +
        Layout_Name(layout.layout) + " } schedule: 7 ";
    const std::string write =
        pool + "steps { write { slots { count: 64 } pe_dim: " +
        std::to_string(layout.rope) +
        " kv_c { pattern: MIXED } k_pe { pattern: MIXED } } }";
    const std::string gather =
        pool + "steps { gather { dst_rows: 64 workspace_starts: 0 " +
        (layout.copied ? "workspace_starts: 64 " : "") +
        "block_table { rows: 1 columns: 1 pages { count: 1 } } } }";
    const TargetSet targets = MakeTargetSet(target).value();
    const double us[] = {Microseconds(targets, write),
                         Microseconds(targets, gather)};
    const int values = 64 * layout.dst_columns();
    std::printf("%-20s %12.1f %12.1f %12.2f %11.2f\n", layout.name, us[0],
                us[1], 1000 * us[0] / values, 1000 * us[1] / values);
  }
}

int Main() {
  const std::string pool =
      "pool { page_size: 4 pages: 2 fill { kind: ROWS } } ";
  const auto write = [&](int tokens) {
    return pool + "schedule: 7 steps { write { slots { count: " +
           std::to_string(tokens) +
           " } pe_dim: 64 kv_c { pattern: MIXED } k_pe { pattern: MIXED } } }";
  };
  const auto gather = [&](int rows) {
    return pool +
           "schedule: 7 steps { gather { dst_rows: " + std::to_string(rows) +
           " workspace_starts: 0 block_table { rows: 1 columns: 2 "
           "pages { count: 2 } } } }";
  };
  const auto convert = [&](int width) {
    return pool +
           "schedule: 7 steps { convert { request_ids { count: 1 } "
           "valid_count: true block_table { rows: 1 columns: 2 pages { "
           "count: 2 } } token_indices { rows: 1 limit: 8 width: " +
           std::to_string(width) + " valid: " + std::to_string(width) +
           " } } }";
  };
  const struct {
    const char* name;
    std::string text;
  } cases[] = {
      {"writer 1 token", write(1)},
      {"writer 4 tokens", write(4)},
      {"gather 1 row", gather(1)},
      {"gather 8 rows", gather(8)},
      {"convert 1 x 32", convert(32)},
      {"convert 1 x 2048", convert(2048)},
      {"no step", pool},
  };
  const TargetSet builtin = MakeTargetSet("builtin").value();
  const TargetSet nothing = MakeTargetSet("mutant:does-nothing").value();
  std::printf("%-20s %12s %24s\n", "us a case", "builtin",
              "staging and checks");
  for (const auto& c : cases) {
    std::printf("%-20s %12.2f %24.2f\n", c.name, Microseconds(builtin, c.text),
                Microseconds(nothing, c.text));
  }
  PrintLayouts();
  return 0;
}

}  // namespace
}  // namespace mlafuzz

int main() { return mlafuzz::Main(); }
