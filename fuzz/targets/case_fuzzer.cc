#include "fuzz/targets/case_fuzzer.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "corpus/codec.h"
#include "fuzz/targets/case_bytes.h"
#include "fuzz/worker/failures.h"

namespace mlafuzz {

CaseFuzzer::CaseFuzzer(const GeneratorOptions& options) : options_(options) {
  Targets targets;
  const char* name = std::getenv("MLAFUZZ_TARGET");
  targets.set_all(name != nullptr ? name : BuiltinFor(options.layout));
  auto session = Session::Create(targets);
  if (!session.ok()) {
    std::fprintf(stderr, "MLAFUZZ_TARGET: %s\n",
                 std::string(session.status().message()).c_str());
    std::exit(2);
  }
  session_ = *std::move(session);
  options_.layout = LayoutOf(session_->targets(), kAllKernels);
}

int CaseFuzzer::OneInput(const std::uint8_t* data, std::size_t size) {
  const absl::StatusOr<Case> c = ParseCase(BytesView(data, size));
  if (!c.ok()) return -1;
  CaseChecker& checker = session_->checker();
  CaseResult result;
  if (!checker.CheckCase(*c, Session::CampaignOptions(*c), &result).ok()) {
    return -1;
  }
  const auto failures = DescribeFailures(checker, result, /*explain=*/true);
  if (failures.empty()) return 0;
  std::fprintf(stderr, "%s\n", FormatCaseText(*c).c_str());
  for (const Failure& f : failures) {
    std::fprintf(stderr, "%s %s in %s: %s\n%s\n", f.kernel().c_str(),
                 f.verdict().c_str(), f.property().c_str(), f.cause().c_str(),
                 f.explanation().c_str());
  }
  std::abort();
}

std::size_t CaseFuzzer::Mutate(std::uint8_t* data, std::size_t size,
                               std::size_t max_size, unsigned seed) const {
  return MutateBytes(data, size, max_size, Choices(seed), options_);
}

std::size_t CaseFuzzer::CrossOver(const std::uint8_t* data1, std::size_t size1,
                                  const std::uint8_t* data2, std::size_t size2,
                                  std::uint8_t* out, std::size_t max_out_size,
                                  unsigned seed) const {
  return CrossOverBytes(BytesView(data1, size1), BytesView(data2, size2), out,
                        max_out_size, Choices(seed), options_);
}

}  // namespace mlafuzz
