#ifndef MLAFUZZ_FUZZ_CAMPAIGN_FLEET_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_FLEET_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "fuzz/campaign/options.h"
#include "fuzz/campaign/totals.h"
#include "fuzz/campaign/worker_process.h"
#include "fuzz/worker/worker.pb.h"

namespace mlafuzz {

// The workers of one campaign: started, watched, restarted, summed up.
class Fleet {
 public:
  // A worker that died: the verdict ("crash", "hang", "oom"; of no meaning if
  // it was killed), whether in a case, which, and why.
  struct Death {
    std::string verdict;
    bool killed = false;  // from outside, as far as the signal says
    bool in_case = false;
    std::string case_binary;
    std::string reason;
  };

  // `folder` holds work files; all must outlive this.
  Fleet(const CampaignOptions& options, const std::string& folder);

  absl::Status Start();
  // Looks after all workers once. Takes new records (with the executions of
  // all jobs filled in) and deaths; restarts the dead, telling them what is
  // `known`. Non-OK if a worker refuses its request or none can live.
  absl::Status Poll(const std::vector<std::string>& known,
                    std::vector<FindingRecord>* records,
                    std::vector<Death>* deaths);
  // Asks all to end after the case that runs, waits up to `seconds` for them
  // (not once a signal came), kills the rest, takes last records, and deaths of
  // those that did not live to end.
  struct Waited {
    double seconds = 0;
    int killed = 0;                  // with a case running
    std::vector<std::string> cases;  // of those, binary
  };
  Waited Stop(double seconds, std::vector<FindingRecord>* records,
              std::vector<Death>* deaths);

  bool AllDone() const;
  Totals Sum() const;
  int respawns() const { return respawns_; }

 private:
  struct Job {
    std::unique_ptr<WorkerProcess> worker;  // null: done
    std::uint64_t cases_left = 0;           // if the campaign limits cases
    int incarnation = 0;
    int idle_deaths = 0;  // in a row, before any case
  };
  absl::Status Spawn(std::uint32_t number,
                     const std::vector<std::string>& known);
  std::vector<std::string> Arguments(std::uint32_t number) const;
  void TakeRecords(std::vector<FindingRecord>* records);
  void Retire(Job& job);

  const CampaignOptions& options_;
  std::string folder_;
  std::vector<Job> jobs_;
  Totals retired_;  // of workers that are gone
  int respawns_ = 0;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_FLEET_H_
