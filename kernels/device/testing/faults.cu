// A library on a GPU that does one wrong thing in every call and nothing else.
// What: $MLAFUZZ_FAULT,
//
//   read TENSOR BYTE     one byte at so many from the tensor's first (negative:
//   write TENSOR BYTE    before it) or, "end+N", from the one behind its last
//   misaligned TENSOR    16 bytes from an odd address
//   far-write            at slot 2^32 of the cache
//   loop                 a kernel that does not end
//   late                 a fault on a stream of its own, after the call
//   returned swallowed            a fault that the library has seen and does
//   not mention trap                 the kernel gives up launch               a
//   launch that CUDA refuses, not mentioned either null-host            the
//   host code itself crashes none                 nothing

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "kernels/target.h"

namespace {

__device__ volatile unsigned sink;

__global__ void Read(const volatile unsigned char* at) { sink = *at; }
__global__ void Write(volatile unsigned char* at) {
  *at = static_cast<unsigned char>(*at ^ 0xff);
}
__global__ void Misaligned(const unsigned char* at) {
  unsigned value[4];
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value[0]), "=r"(value[1]), "=r"(value[2]), "=r"(value[3])
               : "l"(at));
  sink = value[0];
}
__global__ void Loop(const volatile int* never) {
  while (*never == 0) {
  }
}
__global__ void Late(unsigned long long nanoseconds) {
  unsigned long long start;
  unsigned long long now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (now - start < nanoseconds);
  *reinterpret_cast<volatile int*>(8) = 1;
}
__global__ void Trap() { __trap(); }

std::int64_t Extent(const DLTensor* t) {
  std::int64_t last = 0;
  for (int i = 0; i < t->ndim; ++i) {
    if (t->shape[i] == 0) return 0;
    last += (t->shape[i] - 1) * t->strides[i];
  }
  return (last + 1) * t->dtype.bits / 8;
}

struct Named {
  const char* name;
  DLTensor* tensor;
};

template <int kCount>
std::int32_t Misbehave(const MlafuzzCall* call,
                       const Named (&tensors)[kCount]) {
  const char* fault = std::getenv("MLAFUZZ_FAULT");
  char what[32] = "none";
  char name[32] = "";
  char where[32] = "0";
  std::sscanf(fault == nullptr ? "none" : fault, "%31s %31s %31s", what, name,
              where);
  const auto stream = static_cast<cudaStream_t>(call->stream);
  unsigned char* at = nullptr;
  for (const Named& t : tensors) {
    if (t.tensor == nullptr || std::strcmp(t.name, name) != 0) continue;
    at = static_cast<unsigned char*>(t.tensor->data);
    if (std::strncmp(where, "end", 3) == 0) {
      at += Extent(t.tensor) + std::atoll(where + 3);
    } else {
      at += std::atoll(where);
    }
  }
  const auto is = [&](const char* s) { return std::strcmp(what, s) == 0; };
  if ((is("read") || is("write") || is("misaligned")) && at == nullptr) {
    return MLAFUZZ_NOT_IMPLEMENTED;
  }
  if (is("read")) Read<<<1, 1, 0, stream>>>(at);
  if (is("write")) Write<<<1, 1, 0, stream>>>(at);
  if (is("misaligned")) Misaligned<<<1, 1, 0, stream>>>(at + 1);
  if (is("far-write")) {
    for (const Named& t : tensors) {
      if (std::strcmp(t.name, "cache") != 0) continue;
      Write<<<1, 1, 0, stream>>>(static_cast<unsigned char*>(t.tensor->data) +
                                 (std::int64_t{656} << 32));
    }
  }
  if (is("loop")) {
    int* never = nullptr;
    cudaMalloc(&never, sizeof(int));
    cudaMemset(never, 0, sizeof(int));
    Loop<<<1, 1, 0, stream>>>(never);
  }
  if (is("late")) {
    cudaStream_t own;
    cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    Late<<<1, 1, 0, own>>>(20'000'000);
  }
  if (is("swallowed")) {
    Late<<<1, 1, 0, stream>>>(0);
    cudaStreamSynchronize(stream);
    (void)cudaGetLastError();
  }
  if (is("trap")) Trap<<<1, 1, 0, stream>>>();
  if (is("launch")) Trap<<<1, 4096, 0, stream>>>();
  if (is("null-host")) *reinterpret_cast<volatile int*>(8) = 1;
  return MLAFUZZ_OK;
}

std::int32_t WriteCall(const MlafuzzCall* call, const MlafuzzWrite* w) {
  return Misbehave(call, {{"kv_c", w->kv_c},
                          {"k_pe", w->k_pe},
                          {"slot_mapping", w->slot_mapping},
                          {"cache", w->cache},
                          {"scratch", call->scratch}});
}
std::int32_t GatherCall(const MlafuzzCall* call, const MlafuzzGather* g) {
  return Misbehave(call, {{"cache", g->cache},
                          {"dst", g->dst},
                          {"block_table", g->block_table},
                          {"workspace_starts", g->workspace_starts},
                          {"seq_lens", g->seq_lens},
                          {"seq_starts", g->seq_starts}});
}
std::int32_t ConvertCall(const MlafuzzCall* call, const MlafuzzConvert* c) {
  return Misbehave(call, {{"request_ids", c->request_ids},
                          {"block_table", c->block_table},
                          {"token_indices", c->token_indices},
                          {"out", c->out},
                          {"valid_count", c->valid_count}});
}
std::int32_t DecodeCall(const MlafuzzCall* call, const MlafuzzDecode* d) {
  return Misbehave(call, {{"cache", d->cache},
                          {"q", d->q},
                          {"indices", d->indices},
                          {"lengths", d->lengths},
                          {"sinks", d->sinks},
                          {"out", d->out},
                          {"lse", d->lse}});
}

}  // namespace

extern "C" const MlafuzzTarget* mlafuzz_target(void) {
  static const MlafuzzTarget target = {
      sizeof(MlafuzzTarget),
      MLAFUZZ_TARGET_ABI,
      "name: \"faults\" devices: CUDA scratch_bytes: 4096",
      WriteCall,
      GatherCall,
      ConvertCall,
      DecodeCall};
  return &target;
}
