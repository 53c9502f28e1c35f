#include "oracle/verdict.h"

namespace mlafuzz {

const char* VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "pass";
    case Verdict::kFail:
      return "fail";
    case Verdict::kUninformative:
      return "uninformative";
    case Verdict::kUnspecified:
      return "unspecified";
    case Verdict::kSkipped:
      return "skipped";
    case Verdict::kFlaky:
      return "flaky";
    case Verdict::kCrash:
      return "crash";
    case Verdict::kHang:
      return "hang";
    case Verdict::kOutOfMemory:
      return "oom";
    case Verdict::kProtocol:
      return "protocol";
  }
  return "?";
}

bool IsFailure(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFail:
    case Verdict::kFlaky:
    case Verdict::kCrash:
    case Verdict::kHang:
    case Verdict::kOutOfMemory:
    case Verdict::kProtocol:
      return true;
    case Verdict::kPass:
    case Verdict::kUninformative:
    case Verdict::kUnspecified:
    case Verdict::kSkipped:
      return false;
  }
  return false;
}

}  // namespace mlafuzz
