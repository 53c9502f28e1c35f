#include "fuzz/worker/background.h"

#include <utility>

namespace mlafuzz {

Background::Background(bool own_thread) {
  if (own_thread) thread_ = std::thread([this] { Serve(); });
}

Background::~Background() {
  if (!thread_.joinable()) return;
  Wait();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    end_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Background::Start(std::function<void()> work) {
  if (!thread_.joinable()) {
    work();
    return;
  }
  Wait();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    work_ = std::move(work);
  }
  changed_.notify_all();
}

void Background::Wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return !work_; });
}

void Background::Serve() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return work_ || end_; });
    if (end_) return;
    lock.unlock();
    work_();
    lock.lock();
    work_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace mlafuzz
