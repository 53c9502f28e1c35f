#include "fuzz/state/features.h"

#include <unistd.h>

#include <memory>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "corpus/codec.h"
#include "fuzz/campaign/case_files.h"
#include "fuzz/campaign/scratch_folder.h"
#include "fuzz/campaign/signals.h"
#include "fuzz/campaign/worker_process.h"

namespace mlafuzz {
namespace {

// Engines that die without having begun a further case.
constexpr int kMostIdle = 3;

absl::Status WaitFor(WorkerProcess& worker) {
  for (;;) {
    switch (worker.Poll()) {
      case WorkerState::kRunning:
        break;
      case WorkerState::kUsage:
        return absl::InvalidArgumentError(worker.Reason());
      default:
        return absl::OkStatus();
    }
    if (StopSignals() > 0) return absl::CancelledError("stopped by a signal");
    usleep(2000);
  }
}

}  // namespace

MergeLog ParseMergeLog(const std::string& text, std::size_t files) {
  MergeLog log;
  absl::flat_hash_set<std::size_t> seen;
  // The last line may be cut.
  const std::string whole = text.substr(0, text.rfind('\n') + 1);
  for (const absl::string_view line : absl::StrSplit(whole, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    std::size_t file = 0;
    if (words.size() < 2 || !absl::SimpleAtoi(words[1], &file) ||
        file >= files) {
      continue;
    }
    if (words[0] == "STARTED") log.begun = file + 1;
    if (words[0] != "FT") continue;
    bool adds = false;
    for (std::size_t i = 2; i < words.size(); ++i) {
      std::size_t feature = 0;
      adds |=
          absl::SimpleAtoi(words[i], &feature) && seen.insert(feature).second;
    }
    if (adds) log.adding.push_back(file);
  }
  return log;
}

absl::StatusOr<std::vector<std::size_t>> AddingFeatures(
    const CampaignOptions& options, const std::vector<std::string>& cases) {
  if (cases.empty()) return std::vector<std::size_t>();
  auto scratch = ScratchFolder::Create();
  if (!scratch.ok()) return scratch.status();
  const std::string& folder = scratch->path();
  const std::string control = folder + "/merge";
  // What libFuzzer's outer process would write: how many files, how many of
  // them are in the first corpus, their names.
  std::string begin = absl::StrCat(cases.size(), "\n0\n");
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string path = absl::StrCat(folder, "/", i, ".case");
    if (absl::Status s = WriteFileAtomically(path, cases[i]); !s.ok()) return s;
    absl::StrAppend(&begin, path, "\n");
  }
  if (absl::Status s = WriteFileAtomically(control, begin); !s.ok()) return s;
  std::size_t begun = 0;
  for (int idle = 0;;) {
    WorkRequest request = RequestFor(options, WorkRequest::FUZZ);
    request.set_out(folder);
    auto worker = WorkerProcess::Start(
        options.engine.path, folder, "features", std::move(request),
        {"-merge_inner=1", absl::StrCat("-merge_control_file=", control),
         absl::StrCat("-max_len=", 16 << 10), "-timeout=0", "-rss_limit_mb=0",
         "-malloc_limit_mb=0", "-handle_segv=0", "-handle_bus=0",
         "-handle_ill=0", "-handle_fpe=0", "-handle_abrt=0", "-handle_int=0",
         "-handle_term=0", "-detect_leaks=0"},
        options.limits);
    if (!worker.ok()) return worker.status();
    if (absl::Status s = WaitFor(**worker); !s.ok()) return s;
    const auto text = ReadFile(control);
    if (!text.ok()) return text.status();
    MergeLog log = ParseMergeLog(text->substr(begin.size()), cases.size());
    if (log.begun == cases.size()) return std::move(log.adding);
    idle = log.begun > begun ? 0 : idle + 1;
    begun = log.begun;
    if (idle == kMostIdle) {
      return absl::UnavailableError(
          absl::StrCat("the engine does not get past case ", begun, ": ",
                       (*worker)->Reason()));
    }
  }
}

}  // namespace mlafuzz
