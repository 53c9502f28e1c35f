// The way out of a lane that has crashed.
#ifndef MLAFUZZ_KERNELS_SIMT_ABANDON_H_
#define MLAFUZZ_KERNELS_SIMT_ABANDON_H_

namespace mlafuzz::simt {
inline namespace host {

// For signal handlers; `context` is their third argument. If a lane runs on
// this thread, has the thread go on in RunGrid(), which drops all lanes and
// returns FaultKind::kAbandoned, as soon as the handler returns: true. Else
// changes nothing: false. The lane's stack is not used any more, so that it may
// be the one that has overflowed.
bool AbandonFromSignal(void* context);

}  // namespace host
}  // namespace mlafuzz::simt

#endif  // MLAFUZZ_KERNELS_SIMT_ABANDON_H_
