#include "kernels/device/puzzles.h"

#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "corpus/image.h"
#include "kernels/foreign/executor.h"

namespace mlafuzz {
namespace {

// Cases whose buffers are multiples of 16 bytes, so that both of their ends can
// be flush with unmapped memory.
constexpr std::pair<const char*, const char*> kCases[] = {
    {"writer",
     "pool { page_size: 4 pages: 4 } steps { write { pe_dim: 64 kv_c { "
     "pattern: NORMAL_RANGE } slots { count: 6 } } }"},
    {"gather",
     "pool { page_size: 4 pages: 4 fill { kind: ROWS } } steps { gather { "
     "block_table { rows: 4 columns: 1 pages { values: [0, 1, 2, 3] } } "
     "workspace_starts: [0, 2, 4, 6] seq_lens: [2, 2, 2, 2] seq_starts: "
     "[0, 0, 0, 0] dst_rows: 8 } }"},
    {"convert",
     "pool { page_size: 4 pages: 9 } steps { convert { valid_count: true "
     "request_ids { values: [0, 0, 0, 0] } block_table { rows: 2 columns: 2 "
     "pages { values: [7, 2, 1, 3] } } token_indices { width: 8 limit: 8 "
     "valid: 8 rows: 4 } } }"},
    {"decode",
     "pool { page_size: 64 pages: 1 fill { kind: FINITE_ROWS } } steps { "
     "decode { queries: 4 heads: 4 pe_dim: 64 q { pattern: NORMAL_RANGE } "
     "indices { rows: 4 width: 64 valid: 64 limit: 64 } lengths: [64, 64, 64, "
     "64] sink_bits: [0, 0, 0, 0] softmax_scale_bits: 1026206379 } }"},
};

absl::StatusOr<CaseImage> ImageOf(const std::string& kernel) {
  // Images point to their cases.
  static auto* cases = new std::map<std::string, Case>;
  for (const auto& [name, text] : kCases) {
    if (kernel != name) continue;
    auto c = ParseCaseText(text);
    if (!c.ok()) return c.status();
    return BuildImage(cases->try_emplace(kernel, *std::move(c)).first->second);
  }
  return absl::InvalidArgumentError(absl::StrCat("no case for ", kernel));
}

struct Buffer {
  const char* kernel;
  const char* tensor;
};
constexpr Buffer kBuffers[] = {
    {"writer", "kv_c"},         {"writer", "k_pe"},
    {"writer", "slot_mapping"}, {"writer", "cache"},
    {"writer", "scratch"},      {"gather", "cache"},
    {"gather", "dst"},          {"gather", "block_table"},
    {"gather", "seq_lens"},     {"convert", "request_ids"},
    {"convert", "block_table"}, {"convert", "token_indices"},
    {"convert", "out"},         {"convert", "valid_count"},
    {"decode", "cache"},        {"decode", "q"},
    {"decode", "indices"},      {"decode", "lengths"},
    {"decode", "sinks"},        {"decode", "out"},
    {"decode", "lse"},
};

// The names that faults.cu has for tensors.
std::string NameOf(std::optional<TensorId> id) {
  if (!id.has_value()) return "cache";
  return *id == TensorId::kAttention ? "out" : TensorName(*id);
}

std::string Seen(const CaseImage& image, const StepObservation& step) {
  switch (step.status) {
    case CallStatus::kOk:
      break;
    case CallStatus::kCrash:
      return "crash";
    case CallStatus::kHang:
      return "hang";
    case CallStatus::kFault:
      return "fault";
    default:
      return CallStatusName(step.status);
  }
  if (step.strays.empty()) return "ok";
  const Stray& stray = step.strays[0];
  std::size_t size = image.pool.bytes.size();
  for (const Tensor& tensor : image.steps[0].tensors) {
    if (tensor.id == stray.tensor) size = tensor.bytes.size();
  }
  const auto end = static_cast<std::int64_t>(size);
  std::string text =
      absl::StrCat("stray ", NameOf(stray.tensor), " ",
                   stray.first >= end ? absl::StrCat("end+", stray.first - end)
                                      : absl::StrCat(stray.first));
  if (stray.count != 1 || step.strays.size() != 1) {
    absl::StrAppend(&text, " and more");
  }
  return text;
}

absl::StatusOr<std::vector<Observation>> Run(
    const std::string& library, Backend backend, const Puzzle& puzzle,
    absl::Span<const CaseImage> images) {
  // The library's process inherits it.
  setenv("MLAFUZZ_FAULT", puzzle.fault.c_str(), 1);
  RunnerLimits limits;
  limits.call_seconds = puzzle.call_seconds;
  backend.guard = puzzle.guard;
  const auto target = ForeignTarget::Load(library, limits, backend);
  if (!target.ok()) return target.status();
  TargetSet set;
  set.targets.fill(*target);
  std::vector<Observation> seen;
  const absl::Status ran = MakeForeignExecutor()->Run(set, images, &seen);
  if (!ran.ok()) return ran;
  return seen;
}

}  // namespace

std::vector<Puzzle> Puzzles() {
  std::vector<Puzzle> puzzles;
  const auto add = [&](const Buffer& b, const std::string& fault,
                       const char* guard, const std::string& expected) {
    puzzles.push_back({b.kernel, fault, guard, expected});
  };
  for (const Buffer& b : kBuffers) {
    const bool scratch = std::string(b.tensor) == "scratch";
    for (const int bytes : {1, 4096}) {
      const std::string before = absl::StrCat(b.tensor, " ", -bytes);
      const std::string behind = absl::StrCat(b.tensor, " end+", bytes - 1);
      // An access is an illegal address on the side of unmapped memory; on the
      // other one writes leave a trace and reads do not.
      add(b, "read " + before, "before", "crash");
      add(b, "read " + behind, "behind", "crash");
      add(b, "write " + before, "before", "crash");
      add(b, "write " + behind, "behind", "crash");
      add(b, "write " + before, "behind",
          scratch ? "fault" : "stray " + before);
      add(b, "write " + behind, "before",
          scratch ? "fault" : "stray " + behind);
    }
  }
  const Buffer writer = {"writer", "kv_c"};
  add(writer, "read kv_c -1", "behind", "ok");
  add(writer, "write kv_c 5", "before", "stray kv_c 5");  // an input
  add(writer, "misaligned kv_c", "before", "crash");
  add(writer, "far-write", "before", "crash");
  add(writer, "late", "before", "crash");
  add(writer, "swallowed", "before", "crash");
  add(writer, "trap", "before", "crash");
  add(writer, "null-host", "before", "crash");
  // The judge sees that nothing was written.
  add(writer, "launch", "before", "ok");
  add(writer, "none", "before", "ok");
  add(writer, "loop", "before", "hang");
  puzzles.back().call_seconds = 1;
  return puzzles;
}

absl::Status RunPuzzles(const std::string& library, const Backend& backend,
                        absl::Span<const Puzzle> puzzles,
                        const std::function<void(const PuzzleResult&)>& done) {
  for (const Puzzle& puzzle : puzzles) {
    const auto image = ImageOf(puzzle.kernel);
    if (!image.ok()) return image.status();
    const auto seen = Run(library, backend, puzzle, {&*image, 1});
    if (!seen.ok()) return seen.status();
    PuzzleResult result;
    result.puzzle = puzzle;
    if ((*seen)[0].steps.empty()) {
      result.seen = "nothing";
    } else {
      result.seen = Seen(*image, (*seen)[0].steps[0]);
      result.message = (*seen)[0].steps[0].message;
    }
    done(result);
  }
  return absl::OkStatus();
}

std::string RunBatchPuzzle(const std::string& library, const Backend& backend) {
  constexpr std::size_t kCasesOfBatch = 40;
  constexpr std::size_t kHit = 23;
  const auto writer = ImageOf("writer");
  const auto gather = ImageOf("gather");
  if (!writer.ok()) return std::string(writer.status().message());
  if (!gather.ok()) return std::string(gather.status().message());
  std::vector<CaseImage> images;
  for (std::size_t i = 0; i < kCasesOfBatch; ++i) {
    images.push_back(i == kHit ? *writer : *gather);
  }
  // A gather has no k_pe.
  const auto seen = Run(library, backend,
                        {"writer", "read k_pe -1", "before", "crash"}, images);
  if (!seen.ok()) return std::string(seen.status().message());
  for (std::size_t i = 0; i < images.size(); ++i) {
    const CallStatus want =
        i == kHit ? CallStatus::kCrash : CallStatus::kNotImplemented;
    if ((*seen)[i].steps.empty() || (*seen)[i].steps[0].status != want) {
      return absl::StrCat("case ", i, " of the batch was not taken for ",
                          CallStatusName(want));
    }
  }
  return "";
}

}  // namespace mlafuzz
