#include "fuzz/campaign/signals.h"

#include <signal.h>

#include <initializer_list>

namespace mlafuzz {
namespace {

volatile sig_atomic_t stop_signals = 0;

void Handle(int) { stop_signals = stop_signals + 1; }

}  // namespace

void CatchStopSignals() {
  struct sigaction action = {};
  action.sa_handler = Handle;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    sigaction(signal, &action, nullptr);
  }
  // A closed terminal or pipe must not lose the report.
  signal(SIGPIPE, SIG_IGN);
}

int StopSignals() { return stop_signals; }

}  // namespace mlafuzz
