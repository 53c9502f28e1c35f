#include "kernels/decode/mutants/twin.h"

namespace mlafuzz {

CallResult DecodeAdjusted(const DecodeArgs& args, const LaunchContext& context,
                          void (*adjust)(kernels::DecodeParams&)) {
  return CallDecode<kernels::DecodePolicy>(args, context, {}, adjust);
}

}  // namespace mlafuzz
