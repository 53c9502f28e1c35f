// Baked into every engine, so that a run does not depend on the environment.
// Harmless where no sanitizer is linked.

extern "C" const char* __asan_default_options() {
  // halt_on_error, suppress_equal_pcs: a report is an observation of one call,
  //   and the next call's is another one.
  // quarantine_size_mb: the 256 MB default touches fresh pages all the time;
  //   4 MB is faster for writers.
  // malloc_context_size: nobody reads where the harness allocated; unwinding
  //   was about 6 % of a campaign's profile.
  // handle_*: a kernel's wild access is caught by the executor or ends the
  //   process; the supervisor has the case either way.
  // protect_shadow_gap: the CUDA driver maps memory there.
  return "halt_on_error=0:suppress_equal_pcs=0:quarantine_size_mb=4:"
         "malloc_context_size=1:"
         "handle_segv=0:handle_sigbus=0:allow_user_segv_handler=1:"
         "detect_leaks=0:symbolize=0:protect_shadow_gap=0:"
         "detect_stack_use_after_return=0:allocator_may_return_null=1";
}

extern "C" const char* __ubsan_default_options() {
  return "halt_on_error=0:print_stacktrace=0:report_error_type=1:symbolize=0";
}
