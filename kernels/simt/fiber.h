// Fibers for lanes: 1024 stacks of 32 KiB, each above a guard page.
#ifndef MLAFUZZ_KERNELS_SIMT_FIBER_H_
#define MLAFUZZ_KERNELS_SIMT_FIBER_H_

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>

namespace mlafuzz::simt {
inline namespace host {

struct Fiber {
  boost::context::detail::fcontext_t context = nullptr;  // where it waits
  Fiber* next_free = nullptr;
  bool acquired = false;
};

// Must be what a new fiber does first.
inline void Arrived(boost::context::detail::transfer_t came) {
  static_cast<Fiber*>(came.data)->context = came.fctx;
}

// Leaves `from`, which can be jumped to later, for `to`.
inline void Jump(Fiber& from, Fiber& to) {
  Arrived(boost::context::detail::jump_fcontext(to.context, &from));
}

class FiberPool {
 public:
  static constexpr std::size_t kCount = 1024;
  // An ASan report from a lane needs 12 KiB.
  static constexpr std::size_t kStackBytes = 32 << 10;

  using Entry = void (*)(boost::context::detail::transfer_t);

  // `entry` is what each fiber runs; it never returns. Reserves the arena on
  // the first call; false if there is no address space.
  bool Init(Entry entry);

  // The most recently released fiber, since its stack is warm. Each lane of a
  // block can have one, so the pool never runs dry.
  Fiber& Acquire() {
    Fiber& fiber = *free_;
    free_ = fiber.next_free;
    fiber.acquired = true;
    if (fiber.context == nullptr) Make(fiber);
    return fiber;
  }

  void Release(Fiber& fiber) {
    fiber.acquired = false;
    fiber.next_free = free_;
    free_ = &fiber;
  }

  // Takes all acquired fibers back wherever they are and wipes what ASan knows
  // about their stacks. They start from scratch when next acquired.
  void Abandon();

  // Tells ASan that the whole arena is the thread's stack, and back. Once per
  // launch is enough for full reports, at no cost per switch. An abandoned
  // launch also drops the frames that use-after-return detection still holds.
  // (Kernels that throw want -fsanitize-address-use-after-return=never: after a
  // throw ASan takes frames further down "the stack", which here are those of
  // other lanes, for dead.)
  void EnterArena();
  void LeaveArena(bool abandoned);

 private:
  void Make(Fiber& fiber);

  char* arena_ = nullptr;
  Entry entry_ = nullptr;
  Fiber fibers_[kCount];
  Fiber* free_ = nullptr;

  const void* thread_stack_ = nullptr;
  std::size_t thread_stack_bytes_ = 0;
  void* thread_fake_stack_ = nullptr;
  void* arena_fake_stack_ = nullptr;
};

}  // namespace host
}  // namespace mlafuzz::simt

#endif  // MLAFUZZ_KERNELS_SIMT_FIBER_H_
