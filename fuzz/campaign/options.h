#ifndef MLAFUZZ_FUZZ_CAMPAIGN_OPTIONS_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/campaign/mutes.h"
#include "fuzz/campaign/worker_process.h"
#include "fuzz/worker/worker.pb.h"

namespace mlafuzz {

// An engine binary and what it is.
struct Engine {
  std::string path;
  std::string flavour;  // "asan+ubsan", "plain", "race"
};

// Cases that are checked at once.
inline constexpr std::uint32_t kMostFused = 65536;

struct CampaignOptions {
  Engine engine;
  Targets targets;
  std::optional<Targets> other;  // compare with these, bit for bit
  bool no_oracle = false;        // of a comparison
  bool within_bounds = false;    // of a comparison: decodes may differ so far
  std::vector<std::string> kernels;
  Layout layout = FP8_DS_MLA;  // of the pools that the targets take
  WorkRequest::Mutator mutator = WorkRequest::STRUCTURED;
  std::uint64_t seed = 0;
  int jobs = 1;
  double seconds = 0;        // of all, follow-up included; 0: no limit
  double seconds_spent = 0;  // of them, before RunCampaign
  std::uint64_t cases = 0;   // over all jobs; 0: no limit
  std::uint64_t inputs = 0;  // a job, readable or not; 0: no limit
  // CPU a worker may take from its first case on; 0: no limit.
  double cpu_seconds = 0;
  // Where every case that runs is appended, a file a job: this path, '.' and
  // the job's number (fuzz/worker/case_log.h). Empty: nowhere.
  std::string case_log;
  bool stop_on_first = false;
  // GPUs that jobs take in turn; empty: all that of `targets`.
  std::vector<std::uint32_t> devices;
  // Cases that share calls (WorkRequest.fuse); 0: each has its own.
  std::uint32_t fuse = 0;
  bool judge_twice = false;          // WorkRequest.judge_twice
  std::uint32_t threads = 1;         // of each job (WorkRequest.threads)
  bool settle = true;                // tell causes apart by further cases
  bool follow_up = true;             // rerun and minimise findings
  bool quiet = false;                // no progress, no announcements
  std::vector<std::string> corpora;  // folders of stored cases
  // A file with the paths of stored cases and a comma between them, which are
  // run in this order on every file system; empty: none.
  std::string case_list;
  std::string out;          // absolute
  std::string shown_out;    // as the user would type it; empty: `out`
  std::vector<Mute> mutes;  // causes that do not count
  // What reports show of a ledger (ReadLedgerResult(), as text); empty:
  // nothing.
  std::string ledger;
  // The caller has claimed `out`; else RunCampaign does, while it runs.
  bool out_claimed = false;
  // What its reader must know of how it was set up, a sentence each.
  std::vector<std::string> notes;
  std::string program = "mlafuzz";  // how to start this again
  std::string command;              // as typed, for the report
  WatchdogLimits limits;
  double minimize_seconds = 20;  // a finding
  // A finding; of kernels on this machine what a settlement may cost is bounded
  // by its number of cases (fuzz/worker/settle_mode.h) long before.
  double settle_seconds = 20;
};

// "mutant:x", or "builtin writer=mutant:x": for people.
std::string TargetsText(const Targets& targets);
// "--target=mutant:x --writer=... --call-timeout=...": for commands; words as
// ShellWord gives them.
std::string TargetsFlags(const Targets& targets);
// "--call-timeout=...", what of the runners' limits is not the default; empty
// or with a blank before it.
std::string RunnerFlags(const Targets& targets);

// Until limits.until; very long where there is no limit.
double SecondsLeft(const CampaignOptions& options);

// A word as a shell takes it: quoted where it must be.
std::string ShellWord(const std::string& word);

// "2.5s", "120s": exact, and what ParseDuration takes.
std::string DurationText(double seconds);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_OPTIONS_H_
