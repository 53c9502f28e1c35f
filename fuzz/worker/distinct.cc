#include "fuzz/worker/distinct.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace mlafuzz {
namespace {

std::vector<std::uint64_t> ReadHashes(const std::string& path) {
  std::vector<std::uint64_t> hashes;
  std::ifstream in(path, std::ios::binary);
  std::uint64_t hash;
  while (in.read(reinterpret_cast<char*>(&hash), sizeof(hash))) {
    hashes.push_back(hash);
  }
  return hashes;
}

}  // namespace

DistinctCases::DistinctCases(const std::string& folder, std::uint32_t job) {
  for (const Kernel kernel : kAllKernels) {
    One& one = kernels_[static_cast<std::size_t>(kernel)];
    one.path = absl::StrCat(folder, "/distinct.", job, ".", KernelName(kernel));
    // What this job's dead predecessor has seen.
    for (const std::uint64_t hash : ReadHashes(one.path)) one.seen.insert(hash);
  }
}

DistinctCases::~DistinctCases() { Flush(); }

bool DistinctCases::Add(Kernel kernel, std::uint64_t hash) {
  One& one = kernels_[static_cast<std::size_t>(kernel)];
  if (!one.seen.insert(hash).second) return false;
  one.unwritten.push_back(hash);
  if (one.unwritten.size() >= kBuffered) Flush(one);
  return true;
}

void DistinctCases::Flush() {
  for (One& one : kernels_) Flush(one);
}

void DistinctCases::Flush(One& one) {
  if (one.unwritten.empty()) return;
  std::ofstream out(one.path, std::ios::binary | std::ios::app);
  out.write(reinterpret_cast<const char*>(one.unwritten.data()),
            static_cast<std::streamsize>(one.unwritten.size() *
                                         sizeof(std::uint64_t)));
  one.unwritten.clear();
}

std::uint64_t CountDistinct(const std::string& folder, Kernel kernel) {
  absl::flat_hash_set<std::uint64_t> all;
  std::error_code error;
  const std::string suffix = absl::StrCat(".", KernelName(kernel));
  for (std::filesystem::directory_iterator it(folder, error), end;
       !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!absl::StartsWith(name, "distinct.") || !absl::EndsWith(name, suffix)) {
      continue;
    }
    for (const std::uint64_t hash : ReadHashes(it->path().string())) {
      all.insert(hash);
    }
  }
  return all.size();
}

}  // namespace mlafuzz
