// A lender whose device is this machine's memory: what it lends lies in a file
// of its own, which a test maps as a runner would.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/device/lender_api.h"
#include "oracle/device/convert_rows.h"
#include "oracle/device/decode_call.h"
#include "oracle/device/decode_rows.h"
#include "oracle/device/gather_rows.h"
#include "oracle/device/one_thread.h"
#include "oracle/device/write_rows.h"
#include "properties/fused/fill_call.h"

namespace {

struct HostLender {
  int fd = -1;
  uint64_t bytes = 0;
  char* lent = nullptr;
  char* reference = nullptr;  // zero, and there when it is touched
  std::vector<char> hosts[kMlafuzzHosts];
  uint64_t unsettled = 0;
  // What was begun, as a stream has it: done when it is waited for.
  std::vector<std::function<void()>> begun;

  void Settle() {
    for (const auto& work : begun) work();
    begun.clear();
  }
};

HostLender* Self(void* self) { return static_cast<HostLender*>(self); }

void* Create(int /*device*/, uint64_t bytes, char* why, size_t why_size) {
  auto* lender = new HostLender;
  lender->fd = memfd_create("host-lender", MFD_CLOEXEC);
  lender->bytes = bytes;
  void* memory = MAP_FAILED;
  if (lender->fd >= 0 &&
      ftruncate(lender->fd, static_cast<off_t>(bytes)) == 0) {
    memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, lender->fd, 0);
  }
  void* const reference = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || reference == MAP_FAILED) {
    std::snprintf(why, why_size, "no memory to lend");
    delete lender;
    return nullptr;
  }
  lender->lent = static_cast<char*>(memory);
  lender->reference = static_cast<char*>(reference);
  return lender;
}

void Destroy(void* self) {
  HostLender* const lender = Self(self);
  munmap(lender->lent, lender->bytes);
  munmap(lender->reference, lender->bytes);
  close(lender->fd);
  delete lender;
}

void* Host(void* self, int which, uint64_t bytes) {
  std::vector<char>& host = Self(self)->hosts[which];
  if (host.size() < bytes) {
    Self(self)->Settle();
    host.assign(bytes, 0);
  }
  return host.data();
}

int Bring(void* self, int which, uint64_t begin, uint64_t end) {
  HostLender& lender = *Self(self);
  lender.begun.emplace_back([&lender, which, begin, end] {
    std::memcpy(lender.reference + begin, lender.hosts[which].data() + begin,
                end - begin);
  });
  return 0;
}

int Lend(void* self, uint64_t begin, uint64_t end) {
  HostLender& lender = *Self(self);
  lender.begun.emplace_back([&lender, begin, end] {
    lender.unsettled = 0;
    std::memcpy(lender.lent + begin, lender.reference + begin, end - begin);
  });
  return 0;
}

int Expect(void* self, uint64_t begin, uint64_t end) {
  HostLender& lender = *Self(self);
  lender.begun.emplace_back([&lender, begin, end] {
    std::memcpy(lender.reference + begin,
                lender.hosts[kMlafuzzExpected].data() + begin, end - begin);
  });
  return 0;
}

uint8_t* Reference(HostLender& lender) {
  return reinterpret_cast<uint8_t*>(lender.reference);
}

template <typename T>
bool Read(const void* from, size_t size, T* to) {
  if (size != sizeof *to) return false;
  std::memcpy(to, from, sizeof *to);
  return true;
}

void FillPools(HostLender& lender, const mlafuzz::FillCall& call, uint64_t at) {
  const char* const plan = lender.hosts[kMlafuzzRows].data() + at;
  const auto* const pools = reinterpret_cast<const mlafuzz::PoolToFill*>(plan);
  const auto* const patches =
      reinterpret_cast<const mlafuzz::PoolPatch*>(plan + call.patches_at());
  for (uint64_t p = 0; p < call.pools; ++p) {
    const mlafuzz::PoolToFill& pool = pools[p];
    uint8_t* const bytes = Reference(lender) + pool.at;
    if (pool.filling.IsLaidUnder()) {
      for (int64_t i = 0; i < WordsUnder(pool.filling); ++i) {
        LayUnder(pool.filling, i, bytes);
      }
    }
    for (int64_t slot = 0; slot < pool.filling.slots; ++slot) {
      for (int i = 0; i < call.shape.words_a_token(); ++i) {
        LayToken(call.shape, pool.filling.fill,
                 pool.filling.words.Stream(static_cast<uint64_t>(slot)),
                 call.shape.PlaceOf(slot), i, bytes + pool.filling.offset);
      }
    }
    for (uint64_t i = 0; i < pool.patches; ++i) {
      const mlafuzz::PoolPatch& patch = patches[pool.first_patch + i];
      std::memcpy(lender.reference + patch.at,
                  plan + call.bytes_at() + patch.from, patch.count);
    }
  }
}

int Fill(void* self, const void* data, size_t size, uint64_t at) {
  HostLender& lender = *Self(self);
  mlafuzz::FillCall call;
  if (!Read(data, size, &call)) return 1;
  lender.begun.emplace_back(
      [&lender, call, at] { FillPools(lender, call, at); });
  return 0;
}

// Row number `i` of those from byte `at` on.
template <typename Row>
Row RowAt(const HostLender& lender, uint64_t at, size_t i) {
  Row row;
  std::memcpy(&row, lender.hosts[kMlafuzzRows].data() + at + i * sizeof row,
              sizeof row);
  return row;
}

void WriteRows(HostLender& lender, const mlafuzz::oracle::WriteCall& call,
               uint64_t at, size_t rows) {
  for (size_t i = 0; i < rows; ++i) {
    const auto row = RowAt<mlafuzz::oracle::WriteRow>(lender, at, i);
    if (row.at == mlafuzz::oracle::kNoRow) continue;
    for (int tile = 0; tile < call.rules.tiles; ++tile) {
      mlafuzz::oracle::WriteTile(call, Reference(lender), i, row, tile);
    }
    mlafuzz::oracle::WriteRest(call, Reference(lender), i, row);
  }
}

void GatherRows(HostLender& lender, const mlafuzz::oracle::GatherCall& call,
                uint64_t at, size_t rows) {
  for (size_t i = 0; i < rows; ++i) {
    const auto from = RowAt<mlafuzz::oracle::GatherSource>(lender, at, i);
    if (from.at == mlafuzz::oracle::GatherSource::kNone) continue;
    for (int part = 0; part < mlafuzz::oracle::GatherParts(call.rules);
         ++part) {
      mlafuzz::oracle::GatherPart(call, Reference(lender), i, from, part);
    }
  }
}

void ConvertRows(HostLender& lender, const mlafuzz::oracle::ConvertCall& call,
                 size_t rows) {
  for (size_t i = 0; i < rows; ++i) {
    lender.unsettled += static_cast<uint64_t>(mlafuzz::oracle::ConvertRow(
        call, Reference(lender), static_cast<std::int64_t>(i)));
  }
}

int Refer(void* self, int work, const void* rules, size_t size, uint64_t at,
          size_t rows) {
  HostLender& lender = *Self(self);
  switch (work) {
    case kMlafuzzWriteRows: {
      mlafuzz::oracle::WriteCall call;
      if (!Read(rules, size, &call)) return 1;
      lender.begun.emplace_back(
          [&lender, call, at, rows] { WriteRows(lender, call, at, rows); });
      return 0;
    }
    case kMlafuzzGatherRows: {
      mlafuzz::oracle::GatherCall call;
      if (!Read(rules, size, &call)) return 1;
      lender.begun.emplace_back(
          [&lender, call, at, rows] { GatherRows(lender, call, at, rows); });
      return 0;
    }
    case kMlafuzzConvertRows: {
      mlafuzz::oracle::ConvertCall call;
      if (!Read(rules, size, &call)) return 1;
      lender.begun.emplace_back(
          [&lender, call, rows] { ConvertRows(lender, call, rows); });
      return 0;
    }
    default:
      return 1;
  }
}

int Compare(void* self, const MlafuzzRange* ranges, size_t count,
            MlafuzzDifferences* differences) {
  HostLender& lender = *Self(self);
  lender.Settle();
  *differences = {0, UINT64_MAX, lender.unsettled};
  for (size_t i = 0; i < count; ++i) {
    for (uint64_t at = ranges[i].begin; at < ranges[i].end; ++at) {
      if (lender.lent[at] == lender.reference[at]) continue;
      if (differences->bytes++ == 0) differences->first = at;
    }
  }
  return 0;
}

int Judge(void* self, const void* data, size_t size) {
  namespace oracle = mlafuzz::oracle;
  HostLender& lender = *Self(self);
  lender.Settle();
  oracle::DecodeCall call;
  if (!Read(data, size, &call)) return 1;
  const char* const plan = lender.hosts[kMlafuzzPlan].data();
  if (call.plan_bytes() > lender.hosts[kMlafuzzPlan].size() ||
      call.rows() * sizeof(oracle::DecodeTold) >
          lender.hosts[kMlafuzzTold].size()) {
    return 1;
  }
  oracle::DecodeRoom room;
  std::vector<char> scratch(oracle::LayRoom(call.most, nullptr, &room));
  oracle::LayRoom(call.most, scratch.data(), &room);
  auto* const told =
      reinterpret_cast<oracle::DecodeTold*>(lender.hosts[kMlafuzzTold].data());
  const auto heads = static_cast<uint64_t>(call.rules.heads);
  const auto shared = std::make_unique<oracle::DecodeShared>();
  const oracle::OneThread team;
  for (uint64_t row = 0; row < call.rows(); ++row) {
    oracle::DecodeRow<oracle::OneThread>(
        team, call.rules, Reference(lender),
        reinterpret_cast<const uint8_t*>(lender.lent),
        reinterpret_cast<const oracle::DecodeQuery*>(plan)[row / heads],
        static_cast<int>(row % heads),
        reinterpret_cast<const oracle::DecodeKey*>(plan + call.keys_at()),
        reinterpret_cast<const oracle::KeyRange*>(plan + call.blocks_at()),
        reinterpret_cast<const oracle::DecodeSplit*>(plan + call.splits_at()),
        room, shared.get())
        .Run(call.with_checksum, told + row);
  }
  return 0;
}

int Fetch(void* self, uint64_t begin, uint64_t end) {
  HostLender& lender = *Self(self);
  lender.Settle();
  std::memcpy(lender.hosts[kMlafuzzResults].data() + begin, lender.lent + begin,
              end - begin);
  return 0;
}

const MlafuzzLender kLender = {
    .version = MLAFUZZ_LENDER_VERSION,
    .create = &Create,
    .destroy = &Destroy,
    .error = [](void*) { return ""; },
    .descriptor = [](void* self) { return Self(self)->fd; },
    .bytes = [](void* self) { return Self(self)->bytes; },
    .host = &Host,
    .bring = &Bring,
    .fill = &Fill,
    .lend = &Lend,
    .expect = &Expect,
    .refer = &Refer,
    .settle =
        [](void* self) {
          Self(self)->Settle();
          return 0;
        },
    .compare = &Compare,
    .judge = &Judge,
    .fetch = &Fetch,
    .times = [](void*, MlafuzzLenderTimes* times) { *times = {}; },
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const MlafuzzLender*
mlafuzz_lender() {
  return &kLender;
}
