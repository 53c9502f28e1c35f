#include "corpus/observation.h"

namespace mlafuzz {

const char* CallStatusName(CallStatus status) {
  switch (status) {
    case CallStatus::kOk:
      return "ok";
    case CallStatus::kRefused:
      return "refused";
    case CallStatus::kError:
      return "error";
    case CallStatus::kNotImplemented:
      return "not implemented";
    case CallStatus::kFault:
      return "fault";
    case CallStatus::kCrash:
      return "crash";
    case CallStatus::kHang:
      return "hang";
    case CallStatus::kOutOfMemory:
      return "oom";
    case CallStatus::kProtocol:
      return "protocol";
  }
  return "?";
}

}  // namespace mlafuzz
