#include "fuzz/state/zip.h"

#include <array>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace mlafuzz {
namespace {

constexpr std::uint32_t kVersion = 20;   // needed to extract: 2.0
constexpr std::uint32_t kDate = 0x0021;  // 1980-01-01

std::uint32_t Crc32(const std::string& bytes) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> t = {};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t c = i;
      for (int k = 0; k < 8; ++k) c = (c >> 1) ^ (c & 1 ? 0xedb88320u : 0);
      t[i] = c;
    }
    return t;
  }();
  std::uint32_t crc = ~0u;
  for (const char c : bytes) {
    crc = (crc >> 8) ^ table[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  }
  return ~crc;
}

void Put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) {
    out.push_back(static_cast<char>(value >> (8 * i)));
  }
}

// What a local header and the central directory have in common.
void PutEntry(std::string& out, const std::string& name,
              const std::string& bytes) {
  Put(out, kVersion, 2);
  Put(out, 0, 2);  // flags
  Put(out, 0, 2);  // stored
  Put(out, 0, 2);  // time
  Put(out, kDate, 2);
  Put(out, Crc32(bytes), 4);
  Put(out, bytes.size(), 4);
  Put(out, bytes.size(), 4);
  Put(out, name.size(), 2);
  Put(out, 0, 2);  // extra field
}

}  // namespace

absl::StatusOr<std::string> Zip(
    const std::vector<std::pair<std::string, std::string>>& files) {
  std::string out, directory;
  for (const auto& [name, bytes] : files) {
    const std::size_t at = out.size();
    Put(out, 0x04034b50, 4);
    PutEntry(out, name, bytes);
    absl::StrAppend(&out, name, bytes);
    Put(directory, 0x02014b50, 4);
    Put(directory, kVersion, 2);  // made by
    PutEntry(directory, name, bytes);
    Put(directory, 0, 2);  // comment
    Put(directory, 0, 2);  // disk
    Put(directory, 0, 2);  // attributes
    Put(directory, 0, 4);
    Put(directory, at, 4);
    absl::StrAppend(&directory, name);
  }
  if (files.size() > 0xffff || out.size() + directory.size() > 0xffffffffu) {
    return absl::InvalidArgumentError(
        absl::StrCat(files.size(), " files of ", out.size(),
                     " bytes are too many for a zip archive; prune first"));
  }
  const std::size_t at = out.size();
  absl::StrAppend(&out, directory);
  Put(out, 0x06054b50, 4);
  Put(out, 0, 2);
  Put(out, 0, 2);
  Put(out, files.size(), 2);
  Put(out, files.size(), 2);
  Put(out, directory.size(), 4);
  Put(out, at, 4);
  Put(out, 0, 2);
  return out;
}

}  // namespace mlafuzz
