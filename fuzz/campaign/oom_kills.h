#ifndef MLAFUZZ_FUZZ_CAMPAIGN_OOM_KILLS_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_OOM_KILLS_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace mlafuzz {

// How many processes the kernel has killed for want of memory so far: in this
// process' cgroup and those below (v2 memory.events, v1 memory.oom_control),
// and where no cgroup says, on the whole machine (/proc/vmstat). Only a growing
// number means anything. 0 where nothing can be read.
std::uint64_t OomKills();

// The number behind `oom_kill` in the text of one of those files; 0 if it has
// none. For tests.
std::uint64_t OomKillsIn(absl::string_view text);

// The memory cgroup's folder below its mount, from /proc/self/cgroup's text:
// "/a/b", and whether it is of the unified hierarchy. For tests.
struct MemoryCgroup {
  std::string path;
  bool unified = false;
};
MemoryCgroup MemoryCgroupIn(absl::string_view text);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_OOM_KILLS_H_
