/* A foreign index conversion that is right for calls of fewer than three tokens
 * and misbehaves for others, in the way that MISBEHAVE says. C, so that the
 * interface is compiled as C. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernels/target.h"

enum {
  SEGFAULT = 1,
  NULL_POINTER,
  ABORT,
  EXIT_0,
  LOOP,
  SLOW,
  FORKS,
  WRITES_INPUTS,
  WRITES_PAST,
  GARBAGE,
  ALLOCATES,
  CLOSES_PIPE,
  SLEEPS_AT_START,
  UNINITIALISED,
  /* Beyond a case's own behaviour. */
  DELAYED,    /* dies in the third call after one of three tokens */
  IN_COMPANY, /* dies in its hundredth call, whatever it is */
  LIES_ABOUT_STATUS,
  PRINTS,
  ERRORS,
  ERRORS_IN_BYTES,
  OVERRUNS_SCRATCH, /* by one byte, and it expects old bytes there */
  LEAKS,            /* 1 MiB in each call, however short */
  DECLINES,         /* calls of three tokens and more, though it has them */
  LARGE_BATCH       /* spoils the last row of a call of more than any case has */
};

static int32_t Value(const DLTensor* t, int64_t row, int64_t column) {
  return (
      (const int32_t*)t->data)[row * t->strides[0] + column * t->strides[1]];
}

static void Fork(void) {
  int i;
  for (i = 0; i < 8; ++i) {
    if (fork() != 0) continue;
    if (i % 2 == 0) setsid();
    if (fork() == 0) { /* a grandchild that nobody waits for */
      sleep(600);
      _exit(0);
    }
    if (i % 4 == 0) _exit(0);
    sleep(600);
    _exit(0);
  }
}

static volatile char sink;
static char* volatile kept;

/* Called for three tokens and more. */
static int32_t Misbehave(const MlafuzzCall* call, const MlafuzzConvert* args) {
  if (MISBEHAVE == LEAKS) {
    char* leak = (char*)malloc(1 << 20);
    if (leak != NULL) memset(leak, 1, 1 << 20);
    kept = leak; /* or the compiler would leave all of it out */
  }
  if (MISBEHAVE == OVERRUNS_SCRATCH) {
    char* scratch = (char*)call->scratch->data;
    /* Zero at first, or what a call left: neither may be relied on. */
    if (scratch[0] == 0 || scratch[0] == 77) return MLAFUZZ_ERROR;
    scratch[0] = 77;
    scratch[100] ^= 1;
    scratch[-1] ^= 1;
  }
  (void)call;
  switch (MISBEHAVE) {
    case SEGFAULT:
      /* 3 MiB before the table. */
      ((volatile char*)args->block_table->data)[-(3 << 20)] = 1;
      break;
    case NULL_POINTER:
      *(volatile int*)(uintptr_t)16 = 1;
      break;
    case ABORT:
      fprintf(stderr, "misbehave: assertion of 3 tokens failed\n");
      abort();
    case EXIT_0:
      _exit(0);
    case LOOP:
      for (;;) sink = 1;
    case SLOW:
      usleep(1500000);
      break;
    case FORKS:
      Fork();
      break;
    case WRITES_INPUTS:
      *(int32_t*)args->block_table->data ^= 1;
      break;
    case WRITES_PAST: {
      int64_t rows = args->out->shape[0];
      ((int32_t*)args->out->data)[rows * args->out->strides[0]] = 7;
      ((int32_t*)args->request_ids->data)[rows] = 7;
      break;
    }
    case GARBAGE: {
      char junk[64];
      memset(junk, 'x', sizeof junk);
      if (write(3, junk, sizeof junk) < 0) return MLAFUZZ_ERROR;
      break;
    }
    case ALLOCATES:
      for (;;) {
        char* p = malloc(16 << 20);
        if (p == NULL) continue;
        for (int i = 0; i < 16 << 20; i += 4096) ((volatile char*)p)[i] = 1;
      }
    case CLOSES_PIPE:
      close(3);
      sleep(600);
      break;
    case ERRORS:
      snprintf(call->message, call->message_size, "launch failed: %d", 719);
      return MLAFUZZ_ERROR;
    case ERRORS_IN_BYTES:
      snprintf(call->message, call->message_size, "\xff\xfe \033[31mbad\n");
      return MLAFUZZ_ERROR;
    case LIES_ABOUT_STATUS:
      return 4711;
    case DECLINES:
      return MLAFUZZ_NOT_IMPLEMENTED;
    case PRINTS:
      for (int i = 0; i < 20000; ++i)
        printf("a line on standard output %d\n", i);
      break;
    default:
      break;
  }
  return MLAFUZZ_OK;
}

static int32_t Convert(const MlafuzzCall* call, const MlafuzzConvert* args) {
  static int calls = 0;
  static int armed = 0;
  int64_t row, i;
  ++calls;
  if (MISBEHAVE == IN_COMPANY && calls >= 100) raise(SIGSEGV);
  if (MISBEHAVE == DELAYED) {
    if (armed != 0 && ++armed == 4) raise(SIGSEGV);
    if (args->out->shape[0] >= 3 && armed == 0) armed = 1;
    /* Alone it dies as well: at once, since it is the process' first. */
    if (args->out->shape[0] >= 3 && calls == 1) raise(SIGSEGV);
  }
  if (args->out->shape[0] >= 3 && MISBEHAVE != UNINITIALISED) {
    int32_t status = Misbehave(call, args);
    if (status != MLAFUZZ_OK) return status;
  }
  for (row = 0; row < args->out->shape[0]; ++row) {
    int32_t request = ((const int32_t*)args->request_ids->data)[row];
    int32_t valid = 0;
    int32_t* out = (int32_t*)args->out->data + row * args->out->strides[0];
    for (i = 0; i < args->out->shape[1]; ++i) {
      int32_t token = Value(args->token_indices, row, i);
      int64_t column = token / args->page_size;
      if (MISBEHAVE == UNINITIALISED && args->out->shape[0] >= 3) continue;
      if (token < 0 || column >= args->block_table->shape[1]) {
        out[i] = -1;
        continue;
      }
      out[i] = (int32_t)((uint32_t)Value(args->block_table, request, column) *
                             (uint32_t)args->page_size +
                         (uint32_t)(token % args->page_size));
      ++valid;
    }
    if (args->valid_count != NULL) {
      ((int32_t*)args->valid_count->data)[row * args->valid_count->strides[0]] =
          valid;
    }
  }
  if (MISBEHAVE == LARGE_BATCH && args->out->shape[0] >= 600 &&
      args->out->shape[1] > 0) {
    row = args->out->shape[0] - 1;
    ((int32_t*)args->out->data)[row * args->out->strides[0]] ^= 1;
  }
  return MLAFUZZ_OK;
}

__attribute__((constructor)) static void Start(void) {
  if (MISBEHAVE == SLEEPS_AT_START) sleep(2);
}

const MlafuzzTarget* mlafuzz_target(void) {
  static const MlafuzzTarget target = {sizeof(MlafuzzTarget),
                                       MLAFUZZ_TARGET_ABI,
                                       MISBEHAVE == OVERRUNS_SCRATCH
                                           ? "name: 'scratch' scratch_bytes: 100"
                                           : "name: 'index conversion for tests'",
                                       NULL,
                                       NULL,
                                       Convert,
                                       NULL};
  return &target;
}
