/* Libraries that cannot be attached, or only in part: ATTACH says how. */
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "kernels/target.h"

enum {
  NO_ENTRY = 1,
  UNKNOWN_FIELD,
  CRASHES_AT_START, /* sends itself SIGSEGV */
  OLDER_HEADER,
  FAULTS_AT_START, /* writes to address 8 in a constructor */
  CLOSES_AT_START, /* closes what it has not opened, in a constructor */
  NO_KERNEL        /* all its functions are null */
};

#define BEHIND_THE_END (ATTACH == NO_KERNEL ? 0 : 1)

#if ATTACH == 1
int mlafuzz_target_of_another_name(void) { return 0; }
#else
static int32_t Gather(const MlafuzzCall* call, const MlafuzzGather* args) {
  (void)call;
  (void)args;
  return MLAFUZZ_REFUSED;
}

__attribute__((constructor)) static void Start(void) {
  int i;
  if (ATTACH == FAULTS_AT_START) *(volatile int*)(uintptr_t)8 = 1;
  if (ATTACH == CLOSES_AT_START) {
    for (i = 0; i < 100; ++i) close(i);
  }
}

const MlafuzzTarget* mlafuzz_target(void) {
  /* What lies behind the end of an older structure is not to be read. */
  static const MlafuzzTarget target = {
      ATTACH == OLDER_HEADER ? offsetof(MlafuzzTarget, convert)
                             : sizeof(MlafuzzTarget),
      MLAFUZZ_TARGET_ABI,
      ATTACH == UNKNOWN_FIELD ? "contract { writer { tale: TAIL_ZERO } }" : "",
      NULL,
      ATTACH == NO_KERNEL ? NULL : Gather,
      (int32_t (*)(const MlafuzzCall*, const MlafuzzConvert*))BEHIND_THE_END,
      (int32_t (*)(const MlafuzzCall*, const MlafuzzDecode*))BEHIND_THE_END};
  if (ATTACH == CRASHES_AT_START) raise(SIGSEGV);
  return &target;
}
#endif
