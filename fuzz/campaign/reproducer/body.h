// ---- How the call is made again. Nothing below is of this finding.

// A buffer's bytes: `size` bytes, `times` times, one piece after another.
struct Piece {
  std::size_t times;
  std::size_t size;
  const char* bytes;
};
struct Bytes {
  const Piece* pieces;
  std::size_t count;
};
// Bytes that stand at `at` in the place of others.
struct Patch {
  std::size_t at;
  Piece piece;
};
struct Patches {
  const Patch* patches;
  std::size_t count;
};
struct Range {
  std::int64_t begin;
  std::int64_t end;
};
struct Buffer {
  const char* name;
  DLDataTypeCode code;
  std::uint8_t bits;
  int dims;
  std::int64_t shape[3];    // elements
  std::int64_t strides[3];  // elements
  std::int64_t origin;      // of element 0, in bytes
  std::size_t misalignment;
  std::size_t size;  // bytes
  Bytes before;
  // What it must hold afterwards, over what it held before. If it is bounded,
  // each element lies between that and the same with `highest` over it.
  Patches expected;
  bool bounded;
  Patches highest;
  const Range* open;  // bytes that may be anything
  std::size_t opens;
};
struct Call {
  const char* kernel;
  std::uint32_t layout;  // MLAFUZZ_LAYOUT_*
  const char* library;
  unsigned seconds;  // that the call may take
  bool refuses;      // it is invalid and has to be refused
  const Buffer* buffers;
  std::size_t buffer_count;
  std::int64_t page_size;
  bool nope;
  std::uint32_t scale_bits;  // of a decode's softmax; of a gather's cache
  std::int64_t splits, declared_topk, query_length;
  std::size_t scratch_bytes;
};

enum { kFixed = 0, kBugIsThere = 1, kCannotTell = 2 };
// A child's answer is this much more: a library may exit() by itself.
const int kAnswer = 40;

typedef std::vector<std::uint8_t> ByteVector;

inline ByteVector Unpack(const Bytes& bytes) {
  ByteVector out;
  for (std::size_t i = 0; i < bytes.count; ++i) {
    const Piece& piece = bytes.pieces[i];
    for (std::size_t k = 0; k < piece.times; ++k) {
      out.insert(out.end(), piece.bytes, piece.bytes + piece.size);
    }
  }
  return out;
}

inline ByteVector Patched(ByteVector bytes, const Patches& patches) {
  for (std::size_t i = 0; i < patches.count; ++i) {
    const Bytes one = {&patches.patches[i].piece, 1};
    const ByteVector patch = Unpack(one);
    std::copy(patch.begin(), patch.end(),
              bytes.begin() + patches.patches[i].at);
  }
  return bytes;
}

// A hundred rows of a cache: what is sent before page 0 lands near it.
const std::size_t kGuard = 65536;
const std::uint8_t kPoison = 0xc9;

// A buffer between guards that are looked at afterwards.
class Staged {
 public:
  Staged(const Buffer* buffer, const ByteVector& bytes,
         std::size_t misalignment)
      : buffer_(buffer), size_(bytes.size()) {
    storage_.assign(kGuard + 256 + misalignment + size_ + kGuard, kPoison);
    const std::uintptr_t base =
        reinterpret_cast<std::uintptr_t>(storage_.data()) + kGuard;
    at_ = kGuard + (256 - base % 256) % 256 + misalignment;
    std::copy(bytes.begin(), bytes.end(), storage_.begin() + at_);
#ifdef __CUDACC__
    // As far past a multiple of 256 as on the host; cudaMalloc gives one.
    Check(cudaMalloc(&device_, storage_.size() + 256));
    const std::uintptr_t past =
        reinterpret_cast<std::uintptr_t>(storage_.data()) % 256;
    device_at_ = static_cast<std::uint8_t*>(device_) + past;
    Check(cudaMemcpy(device_at_, storage_.data(), storage_.size(),
                     cudaMemcpyHostToDevice));
#endif
    if (buffer == NULL) return;
    for (int i = 0; i < 3; ++i) {
      shape_[i] = buffer->shape[i];
      strides_[i] = buffer->strides[i];
    }
  }

  DLTensor* tensor() {
    tensor_.data = data() + (buffer_ == NULL ? 0 : buffer_->origin);
#ifdef __CUDACC__
    tensor_.device.device_type = kDLCUDA;
#else
    tensor_.device.device_type = kDLCPU;
#endif
    tensor_.device.device_id = 0;
    if (buffer_ == NULL) {
      shape_[0] = static_cast<std::int64_t>(size_);
      strides_[0] = 1;
    }
    tensor_.ndim = buffer_ == NULL ? 1 : buffer_->dims;
    tensor_.dtype.code =
        static_cast<std::uint8_t>(buffer_ == NULL ? kDLUInt : buffer_->code);
    tensor_.dtype.bits =
        static_cast<std::uint8_t>(buffer_ == NULL ? 8 : buffer_->bits);
    tensor_.dtype.lanes = 1;
    tensor_.shape = shape_;
    tensor_.strides = strides_;
    tensor_.byte_offset = 0;
    return &tensor_;
  }

  void Fetch() {
#ifdef __CUDACC__
    Check(cudaMemcpy(storage_.data(), device_at_, storage_.size(),
                     cudaMemcpyDeviceToHost));
#endif
  }

  ByteVector bytes() const {
    return ByteVector(storage_.begin() + at_, storage_.begin() + at_ + size_);
  }
  // Bytes that changed around it.
  std::size_t Strays(std::int64_t* first) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < storage_.size(); ++i) {
      if ((i >= at_ && i < at_ + size_) || storage_[i] == kPoison) continue;
      if (count++ == 0) {
        *first = static_cast<std::int64_t>(i) - static_cast<std::int64_t>(at_);
      }
    }
    return count;
  }

#ifdef __CUDACC__
  static void Check(cudaError_t error) {
    if (error == cudaSuccess) return;
    std::printf("CUDA: %s\n", cudaGetErrorString(error));
    std::fflush(stdout);
    _exit(kAnswer +
          (error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver
               ? kCannotTell
               : kBugIsThere));
  }
#endif

 private:
  std::uint8_t* data() {
#ifdef __CUDACC__
    return device_at_ + at_;
#else
    return storage_.data() + at_;
#endif
  }

  const Buffer* buffer_;
  std::size_t size_;
  std::vector<std::uint8_t> storage_;
  std::size_t at_;
#ifdef __CUDACC__
  void* device_;
  std::uint8_t* device_at_;
#endif
  std::int64_t shape_[3];
  std::int64_t strides_[3];
  DLTensor tensor_;
};

struct Staging {
  std::vector<Staged*> staged;
  const Call* call;
  DLTensor* Find(const char* name) {
    for (std::size_t i = 0; i < staged.size(); ++i) {
      if (std::strcmp(call->buffers[i].name, name) == 0) {
        return staged[i]->tensor();
      }
    }
    return NULL;
  }
};

// MLAFUZZ_OK, ...
inline int MakeCall(const MlafuzzTarget& target, const MlafuzzCall& common,
                    Staging& memory) {
  const Call& call = *memory.call;
  const std::string kernel = call.kernel;
  if (kernel == "writer" && target.write != NULL) {
    MlafuzzWrite args = MlafuzzWrite();
    args.struct_size = sizeof args;
    args.kv_c = memory.Find("kv_c");
    args.k_pe = memory.Find("k_pe");
    args.slot_mapping = memory.Find("slot_mapping");
    args.cache = memory.Find("cache");
    return target.write(&common, &args);
  }
  if (kernel == "gather" && target.gather != NULL) {
    MlafuzzGather args = MlafuzzGather();
    args.struct_size = sizeof args;
    args.nope = call.nope ? 1 : 0;
    args.cache = memory.Find("cache");
    args.dst = memory.Find("dst");
    args.dst_scales = memory.Find("dst_scales");
    args.block_table = memory.Find("block_table");
    args.workspace_starts = memory.Find("workspace_starts");
    args.seq_lens = memory.Find("seq_lens");
    args.seq_starts = memory.Find("seq_starts");
    std::memcpy(&args.tensor_scale, &call.scale_bits, sizeof args.tensor_scale);
    return target.gather(&common, &args);
  }
  if (kernel == "convert" && target.convert != NULL) {
    MlafuzzConvert args = MlafuzzConvert();
    args.struct_size = sizeof args;
    args.page_size = call.page_size;
    args.request_ids = memory.Find("request_ids");
    args.block_table = memory.Find("block_table");
    args.token_indices = memory.Find("token_indices");
    args.out = memory.Find("out");
    args.valid_count = memory.Find("valid_count");
    args.prefill_request_ids = memory.Find("prefill_request_ids");
    args.prefill_workspace_starts = memory.Find("prefill_workspace_starts");
    return target.convert(&common, &args);
  }
  if (kernel == "decode" && target.decode != NULL) {
    MlafuzzDecode args = MlafuzzDecode();
    args.struct_size = sizeof args;
    std::memcpy(&args.softmax_scale, &call.scale_bits,
                sizeof args.softmax_scale);
    args.splits = call.splits;
    args.declared_topk = call.declared_topk;
    args.query_length = call.query_length;
    args.cache = memory.Find("cache");
    args.q = memory.Find("q");
    args.indices = memory.Find("indices");
    args.lengths = memory.Find("lengths");
    args.sinks = memory.Find("sinks");
    args.out = memory.Find("out");
    args.lse = memory.Find("lse");
    args.extra_cache = memory.Find("extra_cache");
    args.extra_indices = memory.Find("extra_indices");
    args.extra_lengths = memory.Find("extra_lengths");
    return target.decode(&common, &args);
  }
  return MLAFUZZ_NOT_IMPLEMENTED;
}

// bf16 or fp32 at `at`.
inline float FloatAt(const ByteVector& bytes, std::size_t at, int size) {
  std::uint32_t word = 0;
  if (size == 2) {
    word = static_cast<std::uint32_t>(bytes[at] | bytes[at + 1] << 8) << 16;
  } else {
    std::memcpy(&word, &bytes[at], 4);
  }
  float value;
  std::memcpy(&value, &word, sizeof value);
  return value;
}

// Prints what is wrong with one buffer, the first few; returns how many
// elements (of bounded ones) or bytes are.
inline std::size_t Compare(const Buffer& buffer, const ByteVector& before,
                           const ByteVector& got) {
  const bool bounded = buffer.bounded;
  const ByteVector expected = Patched(before, buffer.expected);
  const ByteVector highest = Patched(expected, buffer.highest);
  const std::size_t step = bounded ? buffer.bits / 8u : 1u;
  std::size_t wrong = 0;
  for (std::size_t at = 0; at + step <= got.size(); at += step) {
    bool open = false;
    for (std::size_t i = 0; i < buffer.opens; ++i) {
      open |= static_cast<std::int64_t>(at) >= buffer.open[i].begin &&
              static_cast<std::int64_t>(at) < buffer.open[i].end;
    }
    if (open) continue;
    if (!bounded) {
      if (got[at] == expected[at]) continue;
      if (wrong++ < 8) {
        std::printf("%s byte %ld: expected 0x%02x, got 0x%02x\n", buffer.name,
                    static_cast<long>(at) - static_cast<long>(buffer.origin),
                    expected[at], got[at]);
      }
      continue;
    }
    const float low = FloatAt(expected, at, static_cast<int>(step));
    const float high = FloatAt(highest, at, static_cast<int>(step));
    const float value = FloatAt(got, at, static_cast<int>(step));
    const bool nan_wanted = low != low;
    if (nan_wanted ? value != value : value >= low && value <= high) continue;
    if (wrong++ < 8) {
      std::printf("%s element %lu: expected %.9g to %.9g, got %.9g\n",
                  buffer.name, static_cast<unsigned long>(at / step), low, high,
                  value);
    }
  }
  if (wrong != 0) {
    std::printf("%s: %lu %s are wrong\n", buffer.name,
                static_cast<unsigned long>(wrong),
                bounded ? "elements" : "bytes");
  }
  return wrong;
}

// The call, in this process.
inline int CallAndCompare(const Call& call, const char* library) {
#ifdef MLAFUZZ_EMBEDDED_KERNEL
  const MlafuzzTarget* (*get)() = mlafuzz_target;
#else
  void* loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (loaded == NULL) {
    std::printf("cannot load the library: %s\n", dlerror());
    return kCannotTell;
  }
  const MlafuzzTarget* (*get)() = NULL;
  void* symbol = dlsym(loaded, "mlafuzz_target");
  std::memcpy(&get, &symbol, sizeof get);
  if (get == NULL) {
    std::printf("%s has no function mlafuzz_target\n", library);
    return kCannotTell;
  }
#endif
  // A library of an older header has fewer members.
  MlafuzzTarget target = MlafuzzTarget();
  const MlafuzzTarget* theirs = get();
  std::memcpy(&target, theirs,
              theirs->struct_size < sizeof target ? theirs->struct_size
                                                  : sizeof target);
  Staging memory;
  memory.call = &call;
  std::vector<ByteVector> before;
  for (std::size_t i = 0; i < call.buffer_count; ++i) {
    before.push_back(Unpack(call.buffers[i].before));
    memory.staged.push_back(new Staged(&call.buffers[i], before.back(),
                                       call.buffers[i].misalignment));
  }
  char message[512] = "";
  MlafuzzCall common = MlafuzzCall();
  common.struct_size = sizeof common;
  common.layout = call.layout;
  Staged scratch(NULL, ByteVector(call.scratch_bytes, 0x5a), 0);
  if (call.scratch_bytes != 0) common.scratch = scratch.tensor();
  common.message = message;
  common.message_size = sizeof message;
#ifdef __CUDACC__
  cudaStream_t stream;
  Staged::Check(cudaStreamCreate(&stream));
  common.stream = stream;
#endif
  const int status = MakeCall(target, common, memory);
#ifdef __CUDACC__
  Staged::Check(cudaStreamSynchronize(stream));
  Staged::Check(cudaDeviceSynchronize());
#endif
  message[sizeof message - 1] = '\0';
  static const char* const kNames[] = {"ok", "refused", "error",
                                       "not implemented"};
  const char* ended = status >= 0 && status < 4 ? kNames[status] : "nonsense";
  if (status == MLAFUZZ_NOT_IMPLEMENTED) {
    std::printf("%s has no %s\n", library, call.kernel);
    return kCannotTell;
  }
  bool wrong = false;
  if (status != (call.refuses ? MLAFUZZ_REFUSED : MLAFUZZ_OK)) {
    std::printf("the call: expected %s, got %s (%s)\n",
                call.refuses ? "refused" : "ok", ended, message);
    wrong = true;
  }
  for (std::size_t i = 0; i < call.buffer_count; ++i) {
    Staged& staged = *memory.staged[i];
    staged.Fetch();
    wrong |= Compare(call.buffers[i], before[i], staged.bytes()) != 0;
    std::int64_t first = 0;
    const std::size_t strays = staged.Strays(&first);
    if (strays != 0) {
      std::printf(
          "%lu bytes around %s changed, the first %ld from its byte 0\n",
          static_cast<unsigned long>(strays), call.buffers[i].name,
          static_cast<long>(first));
      wrong = true;
    }
    delete memory.staged[i];
  }
  return wrong ? kBugIsThere : kFixed;
}

// The same in a process of its own, which may die or hang.
inline int Reproduce(const Call& call, const char* library) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) {
    std::perror("fork");
    return kCannotTell;
  }
  if (child == 0) {
    alarm(call.seconds);
    const int code = CallAndCompare(call, library);
    std::fflush(stdout);
    _exit(kAnswer + code);
  }
  int ended = 0;
  while (waitpid(child, &ended, 0) < 0) {
  }
  int code = kBugIsThere;
  if (WIFSIGNALED(ended) && WTERMSIG(ended) == SIGALRM) {
    std::printf("the call: expected to return, got nothing in %u s\n",
                call.seconds);
  } else if (WIFSIGNALED(ended)) {
    std::printf("the call: expected to return, got signal %d\n",
                WTERMSIG(ended));
  } else if (WEXITSTATUS(ended) < kAnswer ||
             WEXITSTATUS(ended) > kAnswer + kCannotTell) {
    std::printf("the call: expected to return, got exit(%d)\n",
                WEXITSTATUS(ended));
  } else {
    code = WEXITSTATUS(ended) - kAnswer;
  }
  std::printf("%s\n", code == kFixed        ? "all is as expected"
                      : code == kBugIsThere ? "the bug is there"
                                            : "cannot tell");
  return code;
}
