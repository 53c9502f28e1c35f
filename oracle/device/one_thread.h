#ifndef MLAFUZZ_ORACLE_DEVICE_ONE_THREAD_H_
#define MLAFUZZ_ORACLE_DEVICE_ONE_THREAD_H_

namespace mlafuzz::oracle {

// What the threads of a block do for DecodeRow, one after the other: on the
// host.
struct OneThread {
  template <class F>
  void For(int n, const F& f) const {
    for (int i = 0; i < n; ++i) f(i);
  }
  template <class F>
  void One(const F& f) const {
    f();
  }
  void Together() const {}
};

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DEVICE_ONE_THREAD_H_
