// How it works:
//   1. Compiled code calls __ubsan_handle_KIND(data, ...) on a fault. `data`
//      begins with the place: file, line and column (llvm-project
//      compiler-rt/lib/ubsan/ubsan_value.h, SourceLocation). The runtime marks
//      a place as reported by setting its column to all ones.
//   2. The linker sends those calls here (--wrap, see BUILD.bazel). If the
//      place has its column yet, place and column are noted, then the runtime
//      does its work.
//   3. LetUbsanPlacesReportAgain() puts the columns back.
// Not on every call: a fault inside a loop would print a line a turn.
#include "kernels/ubsan_places.h"

#include <cstdint>
#include <vector>

namespace mlafuzz {
namespace {

constexpr std::uint32_t kReported = ~std::uint32_t{0};

struct Place {
  const char* file;
  std::uint32_t line;
  std::uint32_t column;
};

struct Seen {
  Place* place;
  std::uint32_t column;
};

std::vector<Seen>& AllSeen() {
  static auto* seen = new std::vector<Seen>;
  return *seen;
}

void Note(void* at) {
  auto* place = static_cast<Place*>(at);
  if (place->column != kReported) AllSeen().push_back({place, place->column});
}

}  // namespace

void LetUbsanPlacesReportAgain() {
  for (const Seen& seen : AllSeen()) seen.place->column = seen.column;
  AllSeen().clear();
}

}  // namespace mlafuzz

// The handlers after which a program may go on; the most arguments that one has
// are four words. Weak: absent where no UBSan runtime is linked.
#define MLAFUZZ_HANDLER(kind, place)                                      \
  extern "C" __attribute__((weak)) void __real___ubsan_handle_##kind(     \
      void* a, void* b, void* c, void* d);                                \
  extern "C" void __wrap___ubsan_handle_##kind(void* a, void* b, void* c, \
                                               void* d);                  \
  extern "C" void __wrap___ubsan_handle_##kind(void* a, void* b, void* c, \
                                               void* d) {                 \
    mlafuzz::Note(place);                                                 \
    __real___ubsan_handle_##kind(a, b, c, d);                             \
  }

MLAFUZZ_HANDLER(add_overflow, a)
MLAFUZZ_HANDLER(alignment_assumption, a)
MLAFUZZ_HANDLER(divrem_overflow, a)
MLAFUZZ_HANDLER(float_cast_overflow, a)
MLAFUZZ_HANDLER(function_type_mismatch, a)
MLAFUZZ_HANDLER(implicit_conversion, a)
MLAFUZZ_HANDLER(invalid_builtin, a)
MLAFUZZ_HANDLER(load_invalid_value, a)
MLAFUZZ_HANDLER(mul_overflow, a)
MLAFUZZ_HANDLER(negate_overflow, a)
MLAFUZZ_HANDLER(nonnull_arg, a)
MLAFUZZ_HANDLER(nonnull_return_v1, b)
MLAFUZZ_HANDLER(nullability_arg, a)
MLAFUZZ_HANDLER(nullability_return_v1, b)
MLAFUZZ_HANDLER(out_of_bounds, a)
MLAFUZZ_HANDLER(pointer_overflow, a)
MLAFUZZ_HANDLER(shift_out_of_bounds, a)
MLAFUZZ_HANDLER(sub_overflow, a)
MLAFUZZ_HANDLER(type_mismatch_v1, a)
MLAFUZZ_HANDLER(vla_bound_not_positive, a)
