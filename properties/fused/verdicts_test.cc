// The verdicts that the device leads to are those of the host, over the whole
// ledger. On memory that this machine lends: oracle/device/ is the same source
// there. verdicts_gpu_test asks a GPU.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "gtest/gtest.h"
#include "properties/fused/testing/fake_runner.h"
#include "properties/fused/testing/twice.h"
#include "properties/ledger/ledger.h"

namespace mlafuzz {
namespace {

// Cases a wrong kernel; --test_env=VERDICT_CASES=1000 for a longer run.
std::size_t Cases(Kernel kernel) {
  const char* const cases = std::getenv("VERDICT_CASES");
  if (cases != nullptr) return static_cast<std::size_t>(std::atoll(cases));
  return kernel == Kernel::kDecode ? 16 : 96;
}

struct Said {
  TwiceCounts counts;
  char error[2048] = "";
};

Said JudgeTwiceHere(const LedgerEntry& entry) {
  Said said;
  LentOnHost lent(entry.target);
  for (const Kernel kernel : entry.kernels) {
    const absl::Status s = JudgeFamiliesTwice(
        *lent.calls, lent.targets, lent.contracts(), kernel, Cases(kernel),
        /*seed=*/1, &said.counts);
    if (s.ok()) continue;
    std::snprintf(said.error, sizeof said.error, "%s",
                  std::string(s.message()).c_str());
  }
  return said;
}

// In a process of its own, which a wrong kernel may end. False: it did.
bool Ask(const LedgerEntry& entry, Said* said) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const Said own = JudgeTwiceHere(entry);
    _exit(write(ends[1], &own, sizeof own) == sizeof own ? 0 : 1);
  }
  close(ends[1]);
  // Less than a pipe holds.
  const bool told = read(ends[0], said, sizeof *said) == sizeof *said;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return told;
}

TEST(Verdicts, OfWrongKernelsAreTheHosts) {
  TwiceCounts all;
  int found = 0;
  int ended = 0;
  for (const LedgerEntry& entry : Ledger()) {
    Said said;
    if (!Ask(entry, &said)) {
      ++ended;
      continue;
    }
    EXPECT_STREQ(said.error, "") << entry.target;
    all.passed += said.counts.passed;
    all.by_host += said.counts.by_host;
    all.failed += said.counts.failed;
    all.not_made += said.counts.not_made;
    found += said.counts.failed > 0 ? 1 : 0;
  }
  std::printf(
      "%zu wrong kernels: %zu cases passed on the device and by the host, %zu "
      "judged by the host, %zu failed; %d kernels failed a case, %d ended "
      "their process; %zu cases not called\n",
      Ledger().size(), all.passed, all.by_host, all.failed, found, ended,
      all.not_made);
  EXPECT_GT(all.passed, 1000u);
  EXPECT_GT(all.failed, 1000u);
  EXPECT_GT(found, static_cast<int>(Ledger().size() / 2));
  EXPECT_LT(ended, static_cast<int>(Ledger().size() / 5));
}

}  // namespace
}  // namespace mlafuzz
