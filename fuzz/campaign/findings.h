#ifndef MLAFUZZ_FUZZ_CAMPAIGN_FINDINGS_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_FINDINGS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fuzz/worker/evidence.pb.h"
#include "fuzz/worker/known_causes.h"
#include "fuzz/worker/worker.pb.h"

namespace mlafuzz {

struct Finding {
  std::string id;  // stable name of the cause, usable as a file name
  Failure failure;
  std::string case_binary;
  std::string minimal_binary;  // empty: not minimised
  std::uint64_t executions_to_find = 0;
  std::uint64_t cases_to_find = 0;
  double seconds_to_find = 0;
  double cpu_seconds_to_find = 0;  // of the workers, from their first cases on
  // Calls that the foreign target's process had made before the case.
  std::uint64_t earlier_calls = 0;
  // Runs of the case in fresh processes, and those that failed the same way.
  bool death = false;  // of a process, so not to be minimised in one
  int reruns = 0;
  int same = 0;
  int passed = 0;  // of these runs
  // Runs of the case, in one process, in which it comes back where it does not
  // alone; 0: none are known.
  std::uint32_t repeat = 0;
  std::string note;   // why it is not minimised, ...
  std::string muted;  // by whom, until when and why; empty: it is not
  // Where it was known from before, so that it does not count; empty: it is
  // new, or nobody asked.
  std::string known;
  // Further cases that told its cause from others, and those that failed by it.
  bool settled = false;
  std::uint64_t heard = 0;
  std::uint64_t alike = 0;
  std::uint64_t others = 0;  // of the further cases, that failed otherwise
  // Of them, that are right where the cause should show.
  std::uint64_t contradicted = 0;
  // The claim that its case made alone, and too few others: no cause's name any
  // more, but its case still fails by it.
  std::string withdrawn;
  const std::string& key_of_case() const {
    return withdrawn.empty() ? failure.key() : withdrawn;
  }
  // Written files, relative to the output folder.
  std::string case_file;
  std::string minimal_file;
  std::string unwritten;      // why not all of its files are; empty: they are
  std::uint64_t repeats = 0;  // of a crash or hang: seen again
  // Other ways in which the same fault shows (fuzz/campaign/unexplained.h): of
  // each the finding that it was, and its case, relative to the output folder.
  struct Shape {
    std::string key;
    std::string property;
    std::string cause;
    std::string case_file;
  };
  std::vector<Shape> shapes;
  // What its smallest case left behind; null: evidence_note says why.
  std::shared_ptr<const Evidence> evidence;
  std::string evidence_note;
  // Its call as a file that stands alone (fuzz/campaign/reproduce.h).
  struct Reproducer {
    std::string path;  // relative to the output folder; empty: not written
    std::string kind;  // "c++", "cuda", "gtest"
    bool verified = false;
    int failed = 0;  // runs that showed the bug, of
    int runs = 0;
    std::string compiler;
    std::string words;
    std::string source;
  };
  std::vector<Reproducer> reproducers;
};

// The findings of a campaign, one a cause, in the order of discovery.
class FindingSet {
 public:
  FindingSet() = default;
  // `taken`: names, and so folders, that belong to findings of another set.
  explicit FindingSet(std::vector<std::string> taken)
      : taken_(std::move(taken)) {}

  // The new finding, or null: the cause is known (its repeats grow). A finding
  // that leaves a known one with another cause (see KnownCauses) takes its
  // place, with the counts of the first; `*renamed` is then the old id.
  Finding* Add(Finding finding, std::string* renamed = nullptr);

  // Gives the finding at `number` the causes that further cases left of its
  // own; the first becomes its name. Where its own case shows another first, or
  // only breaks a relation, the case that shows the cause by itself takes its
  // place, with the counts of the first. True if name or case have changed;
  // `*renamed` is then the old id. No Add() may follow.
  bool Settle(std::size_t number, const SettleResult& result,
              std::string* renamed);
  // Of findings with one name, what settling may leave, takes all but the first
  // away and returns their ids.
  std::vector<std::string> MergeAlike();

  std::vector<Finding>& all() { return findings_; }
  const std::vector<Finding>& all() const { return findings_; }
  bool empty() const { return findings_.empty(); }
  std::vector<std::string> Causes() const;

 private:
  void Name(Finding& finding) const;

  std::vector<std::string> taken_;
  std::vector<Finding> findings_;
  KnownCauses causes_;
};

// "writer/writer.tail=TAIL_UNCHANGED" -> "writer-tail-tail-unchanged": lower
// case, digits and single dashes.
std::string FindingId(absl::string_view cause_key);

// Whether a run of the finding's own case fails as that case did. It does so by
// a cause that too few others bear out (Finding::withdrawn), too.
bool FailsAlike(const CaseRun& run, const Finding& finding);

// Of a process that died with this case: kernel, property, cause key.
// `verdict` is "crash", "hang" or "oom".
Failure DeathFailure(absl::string_view verdict, absl::string_view case_binary,
                     const std::vector<std::string>& kernels_under_test,
                     const std::string& reason);

// Calls of `kernel` in a case; 0 if it does not parse.
std::uint64_t CallsOf(absl::string_view case_binary, absl::string_view kernel);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_FINDINGS_H_
