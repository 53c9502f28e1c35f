// The text of a fault: one line on what is wrong and who did it, then one line
// for each group of lanes in equal state.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/simt/block_state.h"

namespace mlafuzz::simt {
inline namespace host {
namespace {

template <class... Args>
std::string Format(const char* format, Args... args) {
  char text[256];
  std::snprintf(text, sizeof text, format, args...);
  return text;
}

std::string ToText(const uint3& v) {
  return Format("(%u,%u,%u)", v.x, v.y, v.z);
}

// Without the folder, which depends on where the build ran.
std::string ToText(const std::source_location& site) {
  std::string_view file = site.file_name();
  file.remove_prefix(file.rfind('/') + 1);
  return std::string(file) + Format(":%u:%u",
                                    static_cast<unsigned>(site.line()),
                                    static_cast<unsigned>(site.column()));
}

const char* NameOf(WarpOp op) {
  switch (op) {
    case WarpOp::kSyncWarp:
      return "__syncwarp";
    case WarpOp::kBallot:
      return "a vote";
    case WarpOp::kShuffle:
      return "__shfl_sync";
    case WarpOp::kShuffleUp:
      return "__shfl_up_sync";
    case WarpOp::kShuffleDown:
      return "__shfl_down_sync";
    case WarpOp::kShuffleXor:
      return "__shfl_xor_sync";
  }
  return "?";
}

std::string NameOf(const Lane& lane) {
  return Format("lane %u of warp %u, thread ", unsigned{lane.index},
                unsigned{lane.warp}) +
         ToText(lane.thread);
}

// Whether one StateOf() goes for both.
bool SameState(const Lane& a, const Lane& b, const Warp& warp) {
  const auto in = [](std::uint32_t set, const Lane& lane) {
    return (set & lane.bit()) != 0;
  };
  const bool waiting = in(warp.waiting, a);
  if (waiting != in(warp.waiting, b) ||
      in(warp.runnable, a) != in(warp.runnable, b) ||
      a.has_site != b.has_site) {
    return false;
  }
  if (waiting && (a.op != b.op || a.mask != b.mask)) return false;
  return !a.has_site ||
         (a.site.line() == b.site.line() &&
          a.site.column() == b.site.column() &&
          std::strcmp(a.site.file_name(), b.site.file_name()) == 0);
}

// What an unfinished lane does.
std::string StateOf(const Lane& lane, const Warp& warp) {
  if ((warp.waiting & lane.bit()) != 0) {
    return Format("wait at %s with mask 0x%08x, ", NameOf(lane.op), lane.mask) +
           ToText(lane.site);
  }
  if ((warp.runnable & lane.bit()) != 0) {
    return lane.has_site ? "can run, last at " + ToText(lane.site)
                         : "can run, no synchronisation yet";
  }
  return "wait at __syncthreads(), " + ToText(lane.site);
}

std::string RangesOf(std::uint32_t set) {
  std::string text;
  for (unsigned l = 0; l < 32; ++l) {
    if ((set >> l & 1) == 0) continue;
    unsigned last = l;
    while (last < 31 && (set >> (last + 1) & 1) != 0) ++last;
    if (!text.empty()) text += ',';
    text += l == last ? Format("%u", l) : Format("%u-%u", l, last);
    l = last;
  }
  return text;
}

struct Group {
  const Lane* first;
  std::uint32_t lanes;
};

std::vector<Group> GroupsOf(unsigned w) {
  std::vector<Group> groups;
  const Warp& warp = block.warps[w];
  for (unsigned l = 0; l < 32; ++l) {
    const Lane& lane = block.lanes[w * 32 + l];
    if ((warp.alive >> l & 1) == 0) continue;
    // The first line tells about this one.
    if (&lane == block.fault.lane) continue;
    const auto group = std::find_if(
        groups.begin(), groups.end(),
        [&](const Group& g) { return SameState(*g.first, lane, warp); });
    if (group == groups.end()) {
      groups.push_back({&lane, lane.bit()});
    } else {
      group->lanes |= lane.bit();
    }
  }
  return groups;
}

}  // namespace

std::string DescribeFault() {
  const Fault& fault = block.fault;
  std::string text = std::string(FaultName(fault.kind)) + ": " + fault.what;
  if (fault.other != nullptr) {
    text +=
        Format(" at %s shared byte %zu, code +0x%zx, against ", fault.region,
               fault.offset, static_cast<std::size_t>(fault.code_offset)) +
        NameOf(*fault.other);
  }
  text += "; block " + ToText(block_index);
  if (fault.lane != nullptr) {
    const Lane& lane = *fault.lane;
    text += ", " + NameOf(lane);
    if (lane.has_site) {
      text +=
          ", last at " + ToText(lane.site) + " in " + lane.site.function_name();
    }
    if (fault.kind == FaultKind::kNotInMask ||
        fault.kind == FaultKind::kBadShuffle ||
        fault.kind == FaultKind::kWarpOpMismatch) {
      text +=
          Format(": %s with mask 0x%08x, operand %d, width %d", NameOf(lane.op),
                 lane.mask, static_cast<int>(lane.operand), lane.width);
    }
  }
  text += Format("; %u lanes unfinished", block.live);
  for (unsigned w = 0; w < block.warp_count; ++w) {
    for (const Group& group : GroupsOf(w)) {
      text += Format("\n  warp %u: lanes ", w) + RangesOf(group.lanes) + " " +
              StateOf(*group.first, block.warps[w]);
    }
  }
  return text;
}

}  // namespace host
}  // namespace mlafuzz::simt
