#include "fuzz/worker/distinct.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "corpus/codec.h"

namespace mlafuzz {
namespace {

// A file: the level of its sample, and then its hashes, eight bytes each.
struct Stored {
  int level = 0;
  std::vector<std::uint64_t> hashes;
};

Stored ReadHashes(const std::string& path) {
  Stored stored;
  std::ifstream in(path, std::ios::binary);
  std::uint64_t word;
  if (!in.read(reinterpret_cast<char*>(&word), sizeof(word))) return stored;
  stored.level = static_cast<int>(std::min<std::uint64_t>(word, 63));
  while (in.read(reinterpret_cast<char*>(&word), sizeof(word))) {
    stored.hashes.push_back(word);
  }
  return stored;
}

void AddAll(const Stored& stored, HashSample& to) {
  to.Thin(stored.level);
  for (const std::uint64_t hash : stored.hashes) to.Add(hash);
}

void AppendWord(std::string& bytes, std::uint64_t word) {
  bytes.append(reinterpret_cast<const char*>(&word), sizeof(word));
}

}  // namespace

// Multiplied: the set's own places come from other bits.
bool HashSample::Counts(std::uint64_t hash) const {
  return level_ == 0 || (hash * 0x9e3779b97f4a7c15u) >> (64 - level_) == 0;
}

std::uint64_t HashSample::Add(std::uint64_t hash) {
  if (!Counts(hash) || !kept_.insert(hash).second) return 0;
  const std::uint64_t more = std::uint64_t{1} << level_;
  while (kept_.size() > most_) Thin(level_ + 1);
  return more;
}

void HashSample::Thin(int level) {
  if (level <= level_) return;
  level_ = std::min(level, 63);
  absl::erase_if(kept_, [this](std::uint64_t hash) { return !Counts(hash); });
}

DistinctCases::DistinctCases(const std::string& folder, std::uint32_t job,
                             std::size_t most) {
  for (const Kernel kernel : kAllKernels) {
    One& one = kernels_.emplace_back(One{
        .path =
            absl::StrCat(folder, "/distinct.", job, ".", KernelName(kernel)),
        .seen = HashSample(most),
        .unwritten = {}});
    // What this job's dead predecessor has seen.
    const Stored stored = ReadHashes(one.path);
    AddAll(stored, one.seen);
    one.written_level = stored.level;
  }
}

DistinctCases::~DistinctCases() { Flush(); }

std::uint64_t DistinctCases::Add(Kernel kernel, std::uint64_t hash) {
  One& one = kernels_[static_cast<std::size_t>(kernel)];
  const std::uint64_t more = one.seen.Add(hash);
  if (more == 0) return 0;
  one.unwritten.push_back(hash);
  if (one.unwritten.size() >= kBuffered) Flush(one);
  return more;
}

void DistinctCases::Flush() {
  for (One& one : kernels_) Flush(one);
}

void DistinctCases::Flush(One& one) {
  if (one.unwritten.empty()) return;
  std::string bytes;
  if (one.seen.level() != one.written_level) {
    // All of it again, which is rare: each time twice as many have come.
    AppendWord(bytes, static_cast<std::uint64_t>(one.seen.level()));
    for (const std::uint64_t hash : one.seen.kept()) AppendWord(bytes, hash);
    if (WriteFileAtomically(one.path, bytes).ok()) {
      one.written_level = one.seen.level();
    }
  } else {
    std::error_code error;
    if (!std::filesystem::exists(one.path, error)) {
      AppendWord(bytes, static_cast<std::uint64_t>(one.seen.level()));
    }
    for (const std::uint64_t hash : one.unwritten) AppendWord(bytes, hash);
    std::ofstream out(one.path, std::ios::binary | std::ios::app);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  one.unwritten.clear();
}

DistinctCount CountDistinct(const std::string& folder, Kernel kernel,
                            std::size_t most) {
  HashSample all(most);
  std::error_code error;
  const std::string suffix = absl::StrCat(".", KernelName(kernel));
  for (std::filesystem::directory_iterator it(folder, error), end;
       !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!absl::StartsWith(name, "distinct.") || !absl::EndsWith(name, suffix)) {
      continue;
    }
    AddAll(ReadHashes(it->path().string()), all);
  }
  return {.cases = all.count(), .estimated = all.level() > 0};
}

}  // namespace mlafuzz
