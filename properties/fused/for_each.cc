#include "properties/fused/for_each.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace mlafuzz {
namespace {

// Threads that wait for work: starting one costs as much as a few hundred
// cases. They live as long as the program.
class Helpers {
 public:
  // Calls work() on this thread and on up to `others` more, and returns when
  // all have returned. One call at a time; a further one has this thread alone.
  void Run(std::size_t others, const std::function<void()>& work) {
    if (busy_.exchange(true)) {
      work();
      return;
    }
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      while (threads_.size() < others) {
        threads_.emplace_back([this] { Serve(); });
      }
      work_ = &work;
      wanted_ = others;
      ++round_;
    }
    start_.notify_all();
    work();
    std::unique_lock<std::mutex> lock(mutex_);
    // Who has not come yet need not.
    wanted_ = 0;
    done_.wait(lock, [this] { return working_ == 0; });
    work_ = nullptr;
    busy_ = false;
  }

 private:
  [[noreturn]] void Serve() {
    std::uint64_t seen = 0;
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      start_.wait(lock, [&] { return round_ != seen && wanted_ > 0; });
      seen = round_;
      --wanted_;
      ++working_;
      const std::function<void()>* const work = work_;
      lock.unlock();
      (*work)();
      lock.lock();
      if (--working_ == 0) done_.notify_all();
    }
  }

  std::atomic<bool> busy_{false};
  std::mutex mutex_;
  std::condition_variable start_;
  std::condition_variable done_;
  std::vector<std::thread> threads_;
  const std::function<void()>* work_ = nullptr;
  std::uint64_t round_ = 0;
  std::size_t wanted_ = 0;
  std::size_t working_ = 0;
};

}  // namespace

void ForEach(std::size_t n, int threads,
             const std::function<void(std::size_t)>& body) {
  // Waking a thread costs as much as a few cases.
  constexpr std::size_t kPiece = 64;
  const std::size_t most = (n + kPiece - 1) / kPiece;
  const std::size_t workers =
      std::min(most, static_cast<std::size_t>(std::max(threads, 1)));
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (;;) {
      const std::size_t begin = next.fetch_add(kPiece);
      if (begin >= n) return;
      for (std::size_t i = begin; i < std::min(n, begin + kPiece); ++i) body(i);
    }
  };
  if (workers < 2) {
    work();
    return;
  }
  static auto* helpers = new Helpers;
  helpers->Run(workers - 1, work);
}

}  // namespace mlafuzz
