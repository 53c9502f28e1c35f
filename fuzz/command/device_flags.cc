#include "fuzz/command/device_flags.h"

#include <algorithm>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "kernels/foreign/foreign_target.h"

namespace mlafuzz {

absl::StatusOr<std::vector<std::uint32_t>> ReadDevices(
    const Arguments& arguments, Targets* targets) {
  std::vector<std::uint32_t> devices;
  if (!arguments.Has("devices")) return devices;
  if (arguments.Has("device")) {
    return absl::InvalidArgumentError(
        "--device and --devices: leave one of them out");
  }
  if (targets->device_name().empty()) {
    return absl::InvalidArgumentError(
        "--devices is for kernels on GPUs: add --backend=cuda");
  }
  const std::string list = arguments.Get("devices");
  std::string first;
  for (const absl::string_view word : absl::StrSplit(list, ',')) {
    std::uint32_t device = 0;
    if (!absl::SimpleAtoi(word, &device) || device > 255) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--devices takes numbers of GPUs with a comma between them, got \"",
          list, "\""));
    }
    if (std::find(devices.begin(), devices.end(), device) != devices.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--devices names GPU ", device, " twice"));
    }
    const auto name =
        DescribeDevice({.cuda = true, .device = static_cast<int>(device)});
    if (!name.ok()) {
      return absl::Status(name.status().code(),
                          absl::StrCat("--devices: GPU ", device, ": ",
                                       std::string(name.status().message())));
    }
    if (first.empty()) first = *name;
    if (*name != first) {
      return absl::InvalidArgumentError(
          absl::StrCat("--devices: GPU ", devices[0], " is ", first, ", GPU ",
                       device, " is ", *name,
                       "; a report is of one kind of card: name those apart"));
    }
    devices.push_back(device);
  }
  targets->set_device(devices[0]);
  targets->set_device_name(first);
  return devices;
}

}  // namespace mlafuzz
