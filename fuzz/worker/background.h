#ifndef MLAFUZZ_FUZZ_WORKER_BACKGROUND_H_
#define MLAFUZZ_FUZZ_WORKER_BACKGROUND_H_

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace mlafuzz {

// Does one piece of work at a time beside its caller. What the work changed is
// the caller's to look at after Wait().
class Background {
 public:
  // Without a thread of its own, Start() does the work before it returns.
  explicit Background(bool own_thread);
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // Waits for what is under way first.
  void Start(std::function<void()> work);
  void Wait();

 private:
  void Serve();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> work_;  // empty: none
  bool end_ = false;
  std::thread thread_;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_BACKGROUND_H_
