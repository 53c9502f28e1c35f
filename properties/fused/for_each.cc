#include "properties/fused/for_each.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace mlafuzz {
namespace {

// One call of ForEach().
struct Loop {
  const std::function<void(std::size_t)>& body;
  const std::size_t n;
  const std::size_t piece;
  std::size_t helpers;  // that may still come
  std::atomic<std::size_t> next{0};
  std::size_t working = 0;  // of them
  std::condition_variable done;

  // False: nothing is left to begin.
  bool RunPiece() {
    const std::size_t begin = next.fetch_add(piece);
    if (begin >= n) return false;
    for (std::size_t i = begin; i < std::min(n, begin + piece); ++i) body(i);
    return true;
  }
};

// Threads that wait for loops: starting one costs as much as a few hundred
// cases. They live as long as the program.
class Helpers {
 public:
  // Returns when all of the loop is done, by this thread and up to
  // `loop.helpers` more.
  void Run(Loop& loop) {
    std::size_t wanted = loop.helpers;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      while (threads_.size() < loop.helpers) {
        threads_.emplace_back([this] { Serve(); });
      }
      loops_.push_back(&loop);
    }
    for (; wanted > 0; --wanted) start_.notify_one();
    while (loop.RunPiece()) {
    }
    std::unique_lock<std::mutex> lock(mutex_);
    loops_.erase(std::find(loops_.begin(), loops_.end(), &loop));
    loop.done.wait(lock, [&] { return loop.working == 0; });
  }

 private:
  // Who came last has the quicker work: a shared call, while others make cases.
  Loop* Next() const {
    for (auto it = loops_.rbegin(); it != loops_.rend(); ++it) {
      if ((*it)->helpers > 0 && (*it)->next < (*it)->n) return *it;
    }
    return nullptr;
  }

  [[noreturn]] void Serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      Loop* loop = nullptr;
      start_.wait(lock, [&] { return (loop = Next()) != nullptr; });
      --loop->helpers;
      ++loop->working;
      lock.unlock();
      loop->RunPiece();
      lock.lock();
      ++loop->helpers;
      // The loop is its caller's, who may leave from here on.
      if (--loop->working == 0) loop->done.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable start_;
  std::vector<std::thread> threads_;
  std::vector<Loop*> loops_;
};

}  // namespace

void ForEach(std::size_t n, int threads,
             const std::function<void(std::size_t)>& body, std::size_t piece) {
  piece = std::max<std::size_t>(piece, 1);
  const std::size_t workers = std::min(
      (n + piece - 1) / piece, static_cast<std::size_t>(std::max(threads, 1)));
  if (workers < 2) {
    for (std::size_t i = 0; i < n; ++i) body(i);
    return;
  }
  static auto* helpers = new Helpers;
  Loop loop{.body = body, .n = n, .piece = piece, .helpers = workers - 1};
  helpers->Run(loop);
}

}  // namespace mlafuzz
