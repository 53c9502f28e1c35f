#include "kernels/simt/fiber.h"

#include <sys/mman.h>

#include "kernels/simt/sanitizer_hooks.h"

namespace mlafuzz::simt {
inline namespace host {
namespace {

constexpr std::size_t kGuardBytes = 4096;
constexpr std::size_t kPitch = kGuardBytes + FiberPool::kStackBytes;

// ASan takes a larger stack for a mistake and ignores throw statements on it.
static_assert(kPitch * FiberPool::kCount < 64 << 20);

}  // namespace

bool FiberPool::Init(Entry entry) {
  if (arena_ != nullptr) return true;
  void* arena = mmap(nullptr, kPitch * kCount, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (arena == MAP_FAILED) return false;
  arena_ = static_cast<char*>(arena);
  entry_ = entry;
  for (std::size_t i = kCount; i-- > 0;) Release(fibers_[i]);
  return true;
}

void FiberPool::Make(Fiber& fiber) {
  const std::size_t index = static_cast<std::size_t>(&fiber - fibers_);
  char* const stack = arena_ + index * kPitch + kGuardBytes;
  // Cannot fail for lack of memory: the mapping is private and not reserved.
  mprotect(stack, kStackBytes, PROT_READ | PROT_WRITE);
  // Equal offsets in all stacks would fight for the same L1 sets; 832 is 13
  // cache lines.
  const std::size_t colour = index * 832 % 4096;
  fiber.context = boost::context::detail::make_fcontext(
      stack + kStackBytes - colour, kStackBytes - colour, entry_);
}

void FiberPool::Abandon() {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (!fibers_[i].acquired) continue;
    if (__asan_unpoison_memory_region != nullptr) {
      __asan_unpoison_memory_region(arena_ + i * kPitch + kGuardBytes,
                                    kStackBytes);
    }
    fibers_[i].context = nullptr;
    Release(fibers_[i]);
  }
}

void FiberPool::EnterArena() {
  if (__sanitizer_start_switch_fiber == nullptr) return;
  __sanitizer_start_switch_fiber(&thread_fake_stack_, arena_, kPitch * kCount);
  __sanitizer_finish_switch_fiber(arena_fake_stack_, &thread_stack_,
                                  &thread_stack_bytes_);
}

void FiberPool::LeaveArena(bool abandoned) {
  if (__sanitizer_start_switch_fiber == nullptr) return;
  arena_fake_stack_ = nullptr;
  // Without a place to save it in, ASan destroys the fake stack.
  __sanitizer_start_switch_fiber(abandoned ? nullptr : &arena_fake_stack_,
                                 thread_stack_, thread_stack_bytes_);
  __sanitizer_finish_switch_fiber(thread_fake_stack_, nullptr, nullptr);
}

}  // namespace host
}  // namespace mlafuzz::simt
