#include "kernels/foreign/lent_memory.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"
#include "kernels/foreign/program_files.h"

namespace mlafuzz {
namespace {

// Loaded once, and never unloaded: the driver's threads are in it.
absl::StatusOr<const MlafuzzLender*> Load() {
  const absl::StatusOr<std::string> path = FindLender();
  if (!path.ok()) return absl::UnavailableError(path.status().message());
  void* const library = dlopen(path->c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return absl::UnavailableError(dlerror());
  using Get = const MlafuzzLender* (*)();
  const auto get = reinterpret_cast<Get>(dlsym(library, MLAFUZZ_LENDER_SYMBOL));
  if (get == nullptr) {
    return absl::UnavailableError(
        absl::StrCat(*path, " has no ", MLAFUZZ_LENDER_SYMBOL));
  }
  const MlafuzzLender* const lender = get();
  if (lender->version != MLAFUZZ_LENDER_VERSION) {
    return absl::UnavailableError(
        absl::StrCat(*path, " is version ", lender->version, ", not ",
                     MLAFUZZ_LENDER_VERSION, ": of another build"));
  }
  return lender;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LentMemory>> LentMemory::Create(
    int device, std::uint64_t bytes) {
  static const auto& api = *new absl::StatusOr<const MlafuzzLender*>(Load());
  if (!api.ok()) return api.status();
  char why[512] = "";
  void* const self = (*api)->create(device, bytes, why, sizeof why);
  if (self == nullptr) return absl::UnavailableError(why);
  return std::unique_ptr<LentMemory>(new LentMemory(**api, self));
}

LentMemory::~LentMemory() { api_.destroy(self_); }

absl::Status LentMemory::Of(int result) const {
  if (result == 0) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("lent device memory: ", api_.error(self_)));
}

absl::StatusOr<std::uint8_t*> LentMemory::Host(int which, std::uint64_t bytes) {
  void* const data = api_.host(self_, which, bytes);
  if (data == nullptr) return Of(1);
  return static_cast<std::uint8_t*>(data);
}

absl::Status LentMemory::Bring(std::uint64_t begin, std::uint64_t end,
                               int which) {
  return Of(api_.bring(self_, InputsOf(which), begin, end));
}

absl::Status LentMemory::Fill(absl::Span<const std::uint8_t> call,
                              std::uint64_t at) {
  return Of(api_.fill(self_, call.data(), call.size(), at));
}

absl::Status LentMemory::Lend(std::uint64_t begin, std::uint64_t end) {
  return Of(api_.lend(self_, begin, end));
}

absl::Status LentMemory::Expect(std::uint64_t begin, std::uint64_t end) {
  return Of(api_.expect(self_, begin, end));
}

absl::Status LentMemory::Refer(int work, absl::Span<const std::uint8_t> rules,
                               std::uint64_t at, std::size_t rows) {
  return Of(api_.refer(self_, work, rules.data(), rules.size(), at, rows));
}

absl::Status LentMemory::Settle() { return Of(api_.settle(self_)); }

absl::StatusOr<MlafuzzDifferences> LentMemory::Compare(
    absl::Span<const MlafuzzRange> ranges) {
  MlafuzzDifferences seen = {};
  if (absl::Status s =
          Of(api_.compare(self_, ranges.data(), ranges.size(), &seen));
      !s.ok()) {
    return s;
  }
  return seen;
}

absl::Status LentMemory::Judge(absl::Span<const std::uint8_t> call) {
  return Of(api_.judge(self_, call.data(), call.size()));
}

absl::Status LentMemory::Fetch(std::uint64_t begin, std::uint64_t end) {
  return Of(api_.fetch(self_, begin, end));
}

MlafuzzLenderTimes LentMemory::TakeTimes() {
  MlafuzzLenderTimes times;
  api_.times(self_, &times);
  return times;
}

}  // namespace mlafuzz
