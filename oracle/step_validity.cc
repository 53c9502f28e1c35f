#include "oracle/step_validity.h"

namespace mlafuzz {

const char* ValidityName(Validity validity) {
  switch (validity) {
    case Validity::kValid:
      return "valid";
    case Validity::kBoundary:
      return "boundary";
    case Validity::kInvalid:
      return "invalid";
    case Validity::kUnspecified:
      return "unspecified";
  }
  return "?";
}

}  // namespace mlafuzz
