// A lender whose device is this machine's memory: what it lends lies in a file
// of its own, which a test maps as a runner would.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <vector>

#include "kernels/device/lender_api.h"
#include "oracle/device/write_rows.h"

namespace {

struct HostLender {
  int fd = -1;
  uint64_t bytes = 0;
  char* lent = nullptr;
  std::vector<char> reference;
  std::vector<char> hosts[4];
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
  lender->reference.resize(bytes);
  void* memory = MAP_FAILED;
  if (lender->fd >= 0 &&
      ftruncate(lender->fd, static_cast<off_t>(bytes)) == 0) {
    memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, lender->fd, 0);
  }
  if (memory == MAP_FAILED) {
    std::snprintf(why, why_size, "no memory to lend");
    delete lender;
    return nullptr;
  }
  lender->lent = static_cast<char*>(memory);
  return lender;
}

void Destroy(void* self) {
  HostLender* const lender = Self(self);
  munmap(lender->lent, lender->bytes);
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

int Bring(void* self, uint64_t begin, uint64_t end) {
  HostLender& lender = *Self(self);
  lender.begun.emplace_back([&lender, begin, end] {
    const char* const from = lender.hosts[kMlafuzzInputs].data();
    std::memcpy(lender.reference.data() + begin, from + begin, end - begin);
    std::memcpy(lender.lent + begin, from + begin, end - begin);
  });
  return 0;
}

int Expect(void* self, uint64_t begin, uint64_t end) {
  HostLender& lender = *Self(self);
  lender.begun.emplace_back([&lender, begin, end] {
    std::memcpy(lender.reference.data() + begin,
                lender.hosts[kMlafuzzExpected].data() + begin, end - begin);
  });
  return 0;
}

int WriteRows(void* self, const void* rules, size_t size, size_t first,
              size_t rows) {
  HostLender& lender = *Self(self);
  mlafuzz::oracle::WriteRules own;
  if (size != sizeof own) return 1;
  std::memcpy(&own, rules, sizeof own);
  lender.begun.emplace_back([&lender, own, first, rows] {
    auto* const memory =
        reinterpret_cast<std::uint8_t*>(lender.reference.data());
    for (size_t i = first; i < first + rows; ++i) {
      mlafuzz::oracle::WriteRow row;
      std::memcpy(&row, lender.hosts[kMlafuzzRows].data() + i * sizeof row,
                  sizeof row);
      for (int tile = 0; tile < own.tiles; ++tile) {
        mlafuzz::oracle::WriteTile(own, memory, row, tile);
      }
      mlafuzz::oracle::WriteRest(own, memory, row);
    }
  });
  return 0;
}

int Compare(void* self, const MlafuzzRange* ranges, size_t count,
            uint64_t* differences, uint64_t* first) {
  HostLender& lender = *Self(self);
  lender.Settle();
  *differences = 0;
  *first = UINT64_MAX;
  for (size_t i = 0; i < count; ++i) {
    for (uint64_t at = ranges[i].begin; at < ranges[i].end; ++at) {
      if (lender.lent[at] == lender.reference[at]) continue;
      if ((*differences)++ == 0) *first = at;
    }
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
    .expect = &Expect,
    .write_rows = &WriteRows,
    .settle =
        [](void* self) {
          Self(self)->Settle();
          return 0;
        },
    .compare = &Compare,
    .fetch = &Fetch,
    .times = [](void*, MlafuzzLenderTimes* times) { *times = {}; },
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const MlafuzzLender*
mlafuzz_lender() {
  return &kLender;
}
