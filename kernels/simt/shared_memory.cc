#include "kernels/simt/shared_memory.h"

#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "kernels/simt/host_backend.h"
#include "kernels/simt/sanitizer_hooks.h"

namespace mlafuzz::simt {
inline namespace host {
namespace {

constexpr char kSection[] = ".simt_shared";

// Room before the array, so that index -1 is poisoned as well.
struct DynamicArea {
  unsigned char left_redzone[1024];
  alignas(1024) unsigned char bytes[kMaxDynamicShared];
  unsigned char right_redzone[1024];
} dynamic_area;

template <class T>
bool ReadAt(std::ifstream& file, std::uint64_t offset, T* values,
            std::size_t count) {
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(values),
            static_cast<std::streamsize>(count * sizeof(T)));
  return file.good();
}

// Linkers define __start_ and __stop_ symbols only for sections named like C
// identifiers, so the bounds come from the program's section headers. An empty
// range if it has no such section.
std::optional<MemoryRange> FindSection() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  ElfW(Ehdr) header;
  if (!ReadAt(file, 0, &header, 1)) return std::nullopt;
  std::vector<ElfW(Shdr)> sections(header.e_shnum);
  if (!ReadAt(file, header.e_shoff, sections.data(), sections.size()) ||
      header.e_shstrndx >= sections.size()) {
    return std::nullopt;
  }
  std::string names(sections[header.e_shstrndx].sh_size, '\0');
  if (!ReadAt(file, sections[header.e_shstrndx].sh_offset, names.data(),
              names.size())) {
    return std::nullopt;
  }
  std::uintptr_t load_address = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* program, std::size_t, void* out) {
        *static_cast<std::uintptr_t*>(out) = program->dlpi_addr;
        return 1;  // the program itself comes first
      },
      &load_address);
  for (const ElfW(Shdr) & section : sections) {
    if (section.sh_name >= names.size() ||
        std::strcmp(&names[section.sh_name], kSection) != 0) {
      continue;
    }
    return MemoryRange{
        reinterpret_cast<unsigned char*>(load_address + section.sh_addr),
        section.sh_size};
  }
  return MemoryRange{};
}

void Fill(const MemoryRange& range) {
  // Not memset: ASan intercepts it and finds its own redzones there.
  void* to = range.begin;
  std::size_t count = range.size;
  asm volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(0xff) : "memory");
}

}  // namespace

bool SharedMemory::Init() {
  if (found_) return true;
  const std::optional<MemoryRange> section = FindSection();
  if (!section) return false;
  static_ = *section;
  dynamic_ = {dynamic_area.bytes, kMaxDynamicShared};
  if (__asan_poison_memory_region != nullptr) {
    __asan_poison_memory_region(&dynamic_area, sizeof dynamic_area);
  }
  found_ = true;
  return true;
}

void SharedMemory::Resize(std::size_t bytes) {
  if (bytes == dynamic_.size) return;
  dynamic_.size = bytes;
  if (__asan_poison_memory_region == nullptr) return;
  __asan_unpoison_memory_region(dynamic_.begin, bytes);
  __asan_poison_memory_region(dynamic_.begin + bytes,
                              kMaxDynamicShared - bytes);
}

void SharedMemory::FillWithGarbage() const {
  Fill(static_);
  Fill(dynamic_);
}

}  // namespace host
}  // namespace mlafuzz::simt
