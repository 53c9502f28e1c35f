/* Libraries that cannot be attached, or only in part: ATTACH says how. */
#include <signal.h>
#include <stddef.h>

#include "kernels/target.h"

enum { NO_ENTRY = 1, UNKNOWN_FIELD, CRASHES_AT_START, OLDER_HEADER };

#if ATTACH == 1
int mlafuzz_target_of_another_name(void) { return 0; }
#else
static int32_t Gather(const MlafuzzCall* call, const MlafuzzGather* args) {
  (void)call;
  (void)args;
  return MLAFUZZ_REFUSED;
}

const MlafuzzTarget* mlafuzz_target(void) {
  /* What lies behind the end of an older structure is not to be read. */
  static const MlafuzzTarget target = {
      ATTACH == OLDER_HEADER ? offsetof(MlafuzzTarget, convert)
                             : sizeof(MlafuzzTarget),
      MLAFUZZ_TARGET_ABI,
      ATTACH == UNKNOWN_FIELD ? "contract { writer { tale: TAIL_ZERO } }" : "",
      NULL,
      Gather,
      (int32_t (*)(const MlafuzzCall*, const MlafuzzConvert*))1,
      (int32_t (*)(const MlafuzzCall*, const MlafuzzDecode*))1};
  if (ATTACH == CRASHES_AT_START) raise(SIGSEGV);
  return &target;
}
#endif
