// Sanitizer entry points, weak: one object serves builds with and without.
#ifndef MLAFUZZ_KERNELS_SIMT_SANITIZER_HOOKS_H_
#define MLAFUZZ_KERNELS_SIMT_SANITIZER_HOOKS_H_

#include <cstddef>

extern "C" {
__attribute__((weak)) void __sanitizer_start_switch_fiber(void** fake_stack,
                                                          const void* bottom,
                                                          std::size_t size);
__attribute__((weak)) void __sanitizer_finish_switch_fiber(
    void* fake_stack, const void** old_bottom, std::size_t* old_size);
__attribute__((weak)) void __asan_poison_memory_region(
    const volatile void* begin, std::size_t size);
__attribute__((weak)) void __asan_unpoison_memory_region(
    const volatile void* begin, std::size_t size);
}

#endif  // MLAFUZZ_KERNELS_SIMT_SANITIZER_HOOKS_H_
