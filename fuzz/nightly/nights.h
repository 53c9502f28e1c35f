#ifndef MLAFUZZ_FUZZ_NIGHTLY_NIGHTS_H_
#define MLAFUZZ_FUZZ_NIGHTLY_NIGHTS_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace mlafuzz {

// The nights of a state: STATE/nights/N, from 1. One that has a report.json is
// over. While this object lives a locked file keeps other nights out.
class Night {
 public:
  // Begins the night after the last one, or goes on with one that is not over.
  // Unavailable while another process has one.
  static absl::StatusOr<Night> Begin(const std::string& state_path);
  ~Night();
  Night(Night&& other) noexcept
      : number_(other.number_),
        resumed_(other.resumed_),
        folder_(std::move(other.folder_)),
        lock_(std::exchange(other.lock_, -1)) {}
  Night& operator=(Night&&) = delete;

  std::uint64_t number() const { return number_; }
  bool resumed() const { return resumed_; }
  const std::string& folder() const { return folder_; }

 private:
  Night(std::uint64_t number, bool resumed, std::string folder, int lock)
      : number_(number),
        resumed_(resumed),
        folder_(std::move(folder)),
        lock_(lock) {}
  std::uint64_t number_;
  bool resumed_;
  std::string folder_;
  int lock_;
};

// Of a state's nights that are over, the last; 0: there is none.
std::uint64_t LastNight(const std::string& state_path);
// STATE/nights/N
std::string NightFolder(const std::string& state_path, std::uint64_t number);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_NIGHTLY_NIGHTS_H_
