#include "fuzz/campaign/oom_kills.h"

#include <fstream>
#include <iterator>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace mlafuzz {
namespace {

// Files of /proc and /sys have no size: read to the end.
std::string Read(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

std::uint64_t OomKillsIn(absl::string_view text) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    std::uint64_t kills = 0;
    if (words.size() == 2 && words[0] == "oom_kill" &&
        absl::SimpleAtoi(words[1], &kills)) {
      return kills;
    }
  }
  return 0;
}

MemoryCgroup MemoryCgroupIn(absl::string_view text) {
  MemoryCgroup found;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    // "4:memory:/a/b" (v1), "0::/a/b" (v2)
    const std::vector<std::string> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    for (const absl::string_view controller : absl::StrSplit(parts[1], ',')) {
      if (controller == "memory") return {parts[2], false};
    }
    if (parts[1].empty()) found = {parts[2], true};
  }
  return found;
}

std::uint64_t OomKills() {
  const MemoryCgroup cgroup = MemoryCgroupIn(Read("/proc/self/cgroup"));
  const std::string mount =
      cgroup.unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
  const std::string file =
      cgroup.unified ? "/memory.events" : "/memory.oom_control";
  // In a cgroup namespace the mount itself is this process' group.
  for (const std::string& folder : {absl::StrCat(mount, cgroup.path), mount}) {
    const std::string text = Read(folder + file);
    if (!text.empty()) return OomKillsIn(text);
  }
  return OomKillsIn(Read("/proc/vmstat"));
}

}  // namespace mlafuzz
