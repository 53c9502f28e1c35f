// Reproducers of wrong kernels of the ledger, and the same calls of the right
// ones, for a machine with a GPU (fuzz/testing/reproducers.sh):
//
//     write_reproducers FOLDER [MOST]
//
// writes FOLDER/NAME/repro.cu, right.cu, case.txtpb, cause.txt, words.txt (the
// cause's sentence) and targets.txt (the wrong one, the right one) for up to
// MOST wrong kernels, as many of each family as of the others.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "fuzz/campaign/reproducer/source.h"
#include "fuzz/worker/evidence.h"
#include "kernels/executor.h"
#include "kernels/target_set.h"
#include "properties/checker.h"
#include "properties/ledger/ledger.h"
#include "properties/minimize/testing/failing.h"
#include "properties/minimize/testing/minima.h"
#include "properties/minimize/testing/twin.h"

namespace mlafuzz {
namespace {

// What the call of the smallest case had to leave behind, and what it did;
// `words` gets the cause's sentence.
Evidence EvidenceFor(const LedgerEntry& entry, const Case& c,
                     const std::string& cause, std::string* words) {
  const auto targets = MakeTargetSet(entry.target);
  const std::unique_ptr<Executor> executor = MakeHostExecutor();
  CaseChecker checker(*targets, *executor);
  CaseResult result;
  Evidence none;
  none.set_error("it does not fail");
  if (!checker.CheckCase(c, {}, &result).ok()) return none;
  for (const Check& check : result.checks) {
    if (!IsFailure(check.verdict)) continue;
    const Diagnosis why = checker.Why(result, check);
    if (CauseKey(check, why) != cause) continue;
    *words = why.cause;
    const auto step = static_cast<std::size_t>(check.step);
    const Kernel kernel = result.image.steps[step].kernel;
    return EvidenceOf(*checker.contracts()[static_cast<std::size_t>(kernel)],
                      result.image, result.observation, check.step);
  }
  return none;
}

// "writer", ..., or the layout's number.
std::string FamilyOf(const LedgerEntry& entry) {
  return absl::StrCat(KernelName(entry.kernels[0]), entry.layout);
}

// Why there is none; empty: it is written.
std::string Write(const LedgerEntry& entry, const std::string& folder) {
  Twin twin(entry.target);
  const Failing failing = FailureOf(entry, twin);
  if (failing.cause.empty()) return "nothing fails";
  if (absl::StrContains(failing.cause, kOutside)) {
    return "it shows outside of the tensors alone";
  }
  const Case minimal = twin.Minimal(failing.cause, failing.rich);
  // The device has a schedule of its own.
  if (minimal.schedule() != 0) return "it takes a certain schedule of lanes";
  std::string words;
  const Evidence evidence = EvidenceFor(entry, minimal, failing.cause, &words);
  ReproducerText text;
  text.id = entry.target.substr(7);
  text.cause = failing.cause;
  text.case_text = FormatCaseText(minimal);
  text.environment = "Seen on the host.";
  std::filesystem::create_directories(folder);
  for (const bool right : {false, true}) {
    text.kernel = right ? entry.right : entry.target;
    const auto source = ReproducerSource(ReproducerKind::kCuda, evidence, text);
    if (!source.ok()) return std::string(source.status().message());
    if (absl::Status s = WriteFileAtomically(
            absl::StrCat(folder, "/", right ? "right.cu" : "repro.cu"),
            *source);
        !s.ok()) {
      return std::string(s.message());
    }
  }
  const std::pair<const char*, std::string> files[] = {
      {"case.txtpb", text.case_text},
      {"targets.txt", absl::StrCat(entry.target, " ", entry.right, "\n")},
      {"words.txt", words + "\n"},
      {"cause.txt", failing.cause + "\n"}};
  for (const auto& [name, bytes] : files) {
    absl::Status s =
        WriteFileAtomically(absl::StrCat(folder, "/", name), bytes);
    if (!s.ok()) return std::string(s.message());
  }
  return "";
}

int Main(const std::string& folder, std::size_t most) {
  std::map<std::string, std::vector<const LedgerEntry*>> families;
  for (const KnownMinimum& minimum : KnownMinima()) {
    const LedgerEntry* entry = FindInLedger(minimum.target);
    if (entry != nullptr) families[FamilyOf(*entry)].push_back(entry);
  }
  std::size_t written = 0, left = 1;
  for (std::size_t i = 0; left > 0 && written < most; ++i) {
    left = 0;
    for (const auto& [family, entries] : families) {
      if (i >= entries.size() || written >= most) continue;
      ++left;
      const std::string name = entries[i]->target.substr(7);
      const std::string path = absl::StrCat(folder, "/", name);
      const std::string why = Write(*entries[i], path);
      if (why.empty()) {
        ++written;
      } else {
        std::filesystem::remove_all(path);
        std::printf("%s: none: %s\n", name.c_str(), why.c_str());
      }
    }
  }
  std::printf("%d written\n", static_cast<int>(written));
  return written == 0 ? 1 : 0;
}

}  // namespace
}  // namespace mlafuzz

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: write_reproducers FOLDER [MOST]\n");
    return 2;
  }
  return mlafuzz::Main(argv[1],
                       argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1000);
}
