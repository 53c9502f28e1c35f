#ifndef MLAFUZZ_FUZZ_WORKER_STATUS_H_
#define MLAFUZZ_FUZZ_WORKER_STATUS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "corpus/image.h"
#include "oracle/verdict.h"

namespace mlafuzz {

inline constexpr std::size_t kKernels = kAllKernels.size();
inline constexpr std::size_t kMaxKnobs = 512;
inline constexpr std::size_t kMaxRelations = 64;
inline constexpr std::size_t kMaxFields = 128;
// Bytes of a sentence on why a case was not compared; longer ones are cut.
inline constexpr std::size_t kMaxWhy = 512;
// Larger cases cannot be saved before they run; engines never make them
// (-max_len is smaller).
inline constexpr std::size_t kMaxCaseBytes = 256 << 10;

// What a worker shows while it runs, in memory that it shares with its
// supervisor: counts that only grow, and the case that is about to run, saved
// before it runs so that a crash or a hang cannot lose it. Plain counters with
// one writer; a reader may see them a few cases apart.
struct WorkerStatus {
  using Counter = std::atomic<std::uint64_t>;

  Counter heartbeat;  // grows when a case starts or ends
  Counter busy;       // 1 while a case runs
  Counter stop;       // set by the supervisor: end after this case
  Counter done;       // the worker ended on its own terms
  Counter position;   // RUN, DIFF: number of the case that runs

  Counter inputs;    // handed out by the engine, unreadable ones included
  Counter cases;     // that ran
  Counter rejected;  // inputs that are no case or do not build
  std::array<Counter, kKernels> cases_of;
  std::array<Counter, kKernels> distinct;
  std::array<Counter, kKernels> executions;
  // Calls of which nothing is said: the target answered that it has no kernel.
  std::array<Counter, kKernels> not_implemented;
  Counter checks;
  std::array<Counter, kVerdictCount> verdicts;
  Counter informative;  // checks that passed or failed
  Counter failures;     // failing checks, of known causes too
  Counter undiagnosed;  // of them: not diagnosed, see cause_filter.h
  Counter findings;     // records written
  // FusedCounts (properties/fused/fused_checker.h), of fused campaigns alone.
  Counter fused;
  Counter fused_alone;
  Counter fused_calls;
  Counter fused_lent;
  Counter fused_rerun;
  Counter fused_untold;
  Counter only_fused;
  Counter only_alone;
  std::array<Counter, kMaxKnobs> knobs;
  std::array<Counter, kMaxRelations> relations;
  Counter power_samples;
  std::array<Counter, kKernels> power_steps;
  // By numbers of properties/fields.h: of the sampled steps, how many were
  // informative; cases made for the field, how many of them were sampled, and
  // of those how many were informative for it.
  std::array<Counter, kMaxFields> power;
  std::array<Counter, kMaxFields> made_for;
  std::array<Counter, kMaxFields> made_sampled;
  std::array<Counter, kMaxFields> made_informative;
  // Of comparisons of two targets: how far apart decodes' outputs and LSE are,
  // by UlpCounts, and at most.
  std::array<std::array<Counter, 8>, 2> decode_ulps;
  std::array<Counter, 2> decode_most_ulps;

  // And how many cases were compared in any call, or in none; of those, how
  // many a and b did not take, and why not the first of them, in words: written
  // once, the size last.
  Counter compared;
  Counter not_compared;
  std::array<Counter, 2> not_taken;
  std::array<Counter, 2> why_not_taken_size;
  std::array<std::array<char, kMaxWhy>, 2> why_not_taken;

  // This process' CPU clock: when the first case began, and how far it got from
  // there, as of the last case's begin or end.
  Counter cpu_start;
  Counter cpu_nanoseconds;

  Counter case_size;
  std::array<char, kMaxCaseBytes> case_bytes;

  void Add(Counter& c, std::uint64_t n = 1) {
    c.store(c.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  // Of the first case only.
  void NoteNotTaken(std::size_t side, absl::string_view why);
  std::string WhyNotTaken(std::size_t side) const;
  // Before a case runs, and after it came back.
  void Begin(absl::string_view bytes);
  void End();
  // Nanoseconds of this process' CPU clock since the first Begin().
  std::uint64_t CpuSinceFirstCase() const;
  // The case that runs, or ran last.
  std::string CurrentCase() const;
};

// A mapped status file; unmapped at the end, the file stays.
class StatusMap {
 public:
  // Creates the file, zeroed; or maps an existing one.
  static absl::StatusOr<std::unique_ptr<StatusMap>> Create(
      const std::string& path);
  static absl::StatusOr<std::unique_ptr<StatusMap>> Open(
      const std::string& path);
  ~StatusMap();
  StatusMap(const StatusMap&) = delete;
  StatusMap& operator=(const StatusMap&) = delete;

  WorkerStatus& operator*() const { return *status_; }
  WorkerStatus* operator->() const { return status_; }

 private:
  explicit StatusMap(WorkerStatus* status) : status_(status) {}
  static absl::StatusOr<std::unique_ptr<StatusMap>> Map(const std::string& path,
                                                        int flags);
  WorkerStatus* status_;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_STATUS_H_
