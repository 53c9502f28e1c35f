#ifndef MLAFUZZ_KERNELS_FOREIGN_WIRE_H_
#define MLAFUZZ_KERNELS_FOREIGN_WIRE_H_

#include <array>
#include <cstdint>

// What a harness and a runner, the process in which a foreign target runs, say
// to each other over a socket pair: frames of plain little-endian structures,
// each without padding, so that a runner can be written in any language.
//
//   runner:  Hello | LoadFailed        once, after loading the target
//   harness: Run                       a batch of calls
//   runner:  Done                      after the last of them
//         or DeviceFault               then it ends: its device context is lost
//   harness: closes the socket         to end
//
// Tensors' bytes are in shared memory (kArenaFd), which the harness fills and
// reads; nothing in it is trusted. Whatever does not parse is the runner's
// fault and ends it.
namespace mlafuzz::wire {

inline constexpr std::uint32_t kMagic = 0x5a464c4d;  // "MLFZ"
inline constexpr std::uint16_t kVersion = 2;

// Inherited by the runner.
inline constexpr int kSocketFd = 3;
inline constexpr int kArenaFd = 4;
inline constexpr int kControlFd = 5;  // one page: Control
// Device memory that the harness lends, if Control says so.
inline constexpr int kLentFd = 6;

// Exit code of a runner whose descriptors were closed by the target.
inline constexpr int kExitDescriptorsClosed = 98;

enum class Type : std::uint16_t {
  kHello = 1,
  kLoadFailed = 2,  // payload: why, as text
  kRun = 3,
  kDone = 4,
  kDeviceFault = 5,  // payload: DeviceFault, then what the device said
};

struct Frame {
  std::uint32_t magic = kMagic;
  std::uint16_t version = kVersion;
  Type type = Type::kHello;
  std::uint64_t length = 0;  // bytes that follow
};
static_assert(sizeof(Frame) == 16);

// More is not read: a frame this long is garbage.
inline constexpr std::uint64_t kMaxReply = 64 << 20;
inline constexpr std::uint32_t kMaxMessage = 4096;

// Then description_length bytes of text, and device_length bytes that say what
// the calls run on; none: this machine's processors.
struct Hello {
  std::uint32_t abi = 0;
  std::uint32_t implements = 0;  // bit k: the kernel with number k
  std::uint32_t description_length = 0;
  std::uint32_t device_length = 0;
  std::uint32_t pid = 0;
  std::uint32_t lent = 0;  // 1: calls may have their tensors in lent memory
};
static_assert(sizeof(Hello) == 24);

// The arena in both processes: `capacity` bytes of the file between two
// stretches of inaccessible address space, `side` bytes each. Below `low`,
// which moves, it is inaccessible too.
struct Run {
  std::uint64_t capacity = 0;
  std::uint64_t side = 0;
  std::uint64_t low = 0;  // offset in the arena
  std::uint64_t scratch_bytes = 0;
  std::uint32_t calls = 0;  // then so many: Call, its tensors
  std::uint32_t unused = 0;
};
static_assert(sizeof(Run) == 40);

struct Call {
  std::uint32_t kernel = 0;
  std::uint32_t layout = 0;
  std::uint32_t tensors = 0;  // the Tensors that follow
  std::int32_t nope = 0;
  float scale = 0;           // of a decode's softmax; of a gather's whole cache
  std::uint32_t launch = 0;  // kDirect, kGraph, kLent
  std::int64_t page_size = 0;
  std::int64_t splits = 0;
  std::int64_t declared_topk = 0;
  std::int64_t query_length = 0;
  std::uint64_t schedule = 0;  // the case's; on devices it places buffers
};
static_assert(sizeof(Call) == 64);

// Call::launch.
inline constexpr std::uint32_t kDirect = 0;
inline constexpr std::uint32_t kGraph = 1;
// Directly, on tensors that are in the lent memory already: offsets are in it.
// Nothing is copied and no slack looked at; the harness does that.
inline constexpr std::uint32_t kLent = 2;

// Which argument a tensor is; the cache is one of them.
inline constexpr std::uint32_t kCache = 0xffff;
// In a Stray: the call's scratch memory.
inline constexpr std::uint32_t kScratch = 0xfffe;

struct Tensor {
  std::uint32_t id = 0;   // kCache, or the number of a TensorId
  std::uint8_t code = 0;  // of its DLDataType
  std::uint8_t bits = 0;
  std::uint16_t ndim = 0;
  std::uint64_t offset = 0;  // of element 0 in the arena
  std::array<std::int64_t, 3> shape{};
  std::array<std::int64_t, 3> strides{};
  // The buffer that holds it, with what lies before, between and behind rows.
  std::uint64_t begin = 0;  // in the arena
  std::uint64_t size = 0;   // bytes
};
static_assert(sizeof(Tensor) == 80);

// Done: for each call a Result, its message behind it, then its Strays.
struct Result {
  std::int32_t status = 0;  // MLAFUZZ_*, kNoDeviceMemory or kNotCaptured
  std::uint32_t message_length = 0;
  std::uint32_t strays = 0;
  std::uint32_t unused = 0;
};
static_assert(sizeof(Result) == 16);

// The runner had no room for the call's tensors; nothing was called.
inline constexpr std::int32_t kNoDeviceMemory = -1000;
// The call cannot be part of a graph; the message says why.
inline constexpr std::int32_t kNotCaptured = -1001;

// Bytes written outside of a buffer where the harness does not see it: on a
// device. Relative to the buffer's first byte.
struct Stray {
  std::uint32_t id = 0;  // as Tensor
  std::uint32_t unused = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t count = 0;
};
static_assert(sizeof(Stray) == 32);

struct DeviceFault {
  std::uint32_t call = 0;  // of the batch
  std::uint32_t unused = 0;
};
static_assert(sizeof(DeviceFault) == 8);

// Written by the runner while it works, so that a death is put down to the
// right call. A hint only: the target can write here too.
struct Control {
  std::uint64_t started = 0;  // calls of this batch begun
  std::uint64_t address = 0;  // of the fault, where the system tells one
  std::uint64_t code = 0;     // si_code
  std::uint64_t arena = 0;    // where the arena is mapped
  // Nanoseconds of this batch in the target's own code; 0: not told.
  std::uint64_t busy = 0;
  // Of this batch, by kStage*: nanoseconds, told by a device's memory where
  // $MLAFUZZ_STAGE_TIMES is set when the runner starts. Else 0.
  std::uint64_t stages[5] = {};
  // Then also what its memory was measured to copy, in bytes a second: from
  // device to device (read and written bytes both count), and to and from
  // pinned memory of the host.
  std::uint64_t device_rate = 0;
  std::uint64_t in_rate = 0;
  std::uint64_t out_rate = 0;
  // Bytes behind kLentFd; 0: nothing is lent. Set before the runner starts.
  std::uint64_t lent = 0;
};

inline constexpr char kStageTimesVariable[] = "MLAFUZZ_STAGE_TIMES";
inline constexpr int kStageHostIn = 0;   // from the arena to pinned memory
inline constexpr int kStageCopyIn = 1;   // to the device
inline constexpr int kStageKernel = 2;   // launches and what they run
inline constexpr int kStageCopyOut = 3;  // back, and comparing the slack
inline constexpr int kStageHostOut = 4;  // to the arena
inline constexpr int kStages = 5;

}  // namespace mlafuzz::wire

#endif  // MLAFUZZ_KERNELS_FOREIGN_WIRE_H_
