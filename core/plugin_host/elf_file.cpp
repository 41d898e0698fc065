// The gate reads what the dynamic loader would: program headers and the dynamic section. Section
// headers are only checked to lie inside the file.
#include "core/plugin_host/elf_file.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include <elf.h>
#include <fmt/format.h>

#include "ft/plugin/manifest.h"

namespace ft {
namespace {

constexpr uint64_t kMaxImageBytes = uint64_t{4} << 30;
constexpr size_t kMaxHeaders = 256;
constexpr size_t kMaxNotes = 256;
constexpr size_t kMaxDynamicEntries = 4096;
constexpr size_t kMaxNameBytes = 4096;
constexpr uint64_t kPageBytes = 4096;
constexpr unsigned char kBindGnuUnique = 10;

class ElfReader {
 public:
  ElfReader(std::span<const std::byte> file, ElfFacts* facts) : file_(file), facts_(facts) {}

  std::optional<FileFault> Run(const ElfGateOptions& options);

 private:
  using Fault = std::optional<FileFault>;

  static Fault Refuse(std::string_view code, std::string message) {
    return FileFault{"file." + std::string(code), std::move(message)};
  }

  bool Contains(uint64_t offset, uint64_t bytes) const {
    return offset <= file_.size() && bytes <= file_.size() - offset;
  }

  // The T at `offset`; false when it is not inside the file. Files are not aligned: copy.
  template <typename T>
  bool Load(uint64_t offset, T* out) const {
    if (!Contains(offset, sizeof(T))) {
      return false;
    }
    std::memcpy(out, file_.data() + offset, sizeof(T));
    return true;
  }

  std::string_view Text(uint64_t offset, uint64_t bytes) const {
    return {reinterpret_cast<const char*>(file_.data()) + offset, bytes};
  }

  // Where the byte at `address` of the loaded image lies in the file, if `bytes` from there on do.
  bool ToOffset(uint64_t address, uint64_t bytes, uint64_t* offset) const;

  Fault ReadIdentity();
  Fault ReadSections() const;
  Fault ReadSegments();
  Fault CheckSegment(const Elf64_Phdr& segment, size_t index) const;
  Fault CheckLoads() const;
  Fault ReadDynamic();
  Fault TakeDynamicEntry(const Elf64_Dyn& entry);
  Fault ReadStrings();
  Fault CountSymbols(uint64_t* count) const;
  Fault CountGnuHashSymbols(uint64_t* count) const;
  Fault ReadExports(const ElfGateOptions& options);
  Fault ReadNotes(const Elf64_Phdr& segment);
  void TakeNote(const Elf64_Nhdr& note, std::string_view name, std::string_view text);
  bool String(uint64_t index, std::string* out) const;

  std::span<const std::byte> file_;
  ElfFacts* facts_;
  Elf64_Ehdr header_ = {};
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Phdr> loads_;
  std::vector<uint64_t> needed_, run_paths_;  // indexes into the string table
  std::optional<Elf64_Phdr> dynamic_;
  size_t num_notes_ = 0;
  // From the dynamic section; addresses of the image.
  uint64_t strings_ = 0, string_bytes_ = 0, symbols_ = 0, symbol_entry_bytes_ = sizeof(Elf64_Sym);
  uint64_t hash_ = 0, gnu_hash_ = 0;
  uint64_t strings_offset_ = 0;
};

std::optional<FileFault> ElfReader::Run(const ElfGateOptions& options) {
  if (Fault fault = ReadIdentity()) {
    return fault;
  }
  if (Fault fault = ReadSections()) {
    return fault;
  }
  if (Fault fault = ReadSegments()) {
    return fault;
  }
  if (Fault fault = CheckLoads()) {
    return fault;
  }
  if (Fault fault = ReadDynamic()) {
    return fault;
  }
  if (Fault fault = ReadStrings()) {
    return fault;
  }
  if (Fault fault = ReadExports(options)) {
    return fault;
  }
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type == PT_NOTE) {
      if (Fault fault = ReadNotes(segment)) {
        return fault;
      }
    }
  }
  return std::nullopt;
}

ElfReader::Fault ElfReader::ReadIdentity() {
  if (file_.size() < SELFMAG || std::memcmp(file_.data(), ELFMAG, SELFMAG) != 0) {
    return Refuse("not_elf",
                  file_.empty() ? "the file is empty" : "the file does not begin as an ELF file");
  }
  if (!Contains(0, EI_NIDENT)) {
    return Refuse("malformed", fmt::format("{} bytes: the ELF header is cut", file_.size()));
  }
  const auto byte_at = [this](size_t i) { return std::to_integer<unsigned>(file_[i]); };
  if (byte_at(EI_CLASS) != ELFCLASS64) {
    return Refuse("class", "not a 64-bit ELF file: ft loads 64-bit x86-64 plugins");
  }
  if (byte_at(EI_DATA) != ELFDATA2LSB) {
    return Refuse("endian", "a big-endian ELF file: ft loads little-endian x86-64 plugins");
  }
  if (!Load(0, &header_)) {
    return Refuse("malformed", fmt::format("{} bytes: the ELF header is cut", file_.size()));
  }
  if (header_.e_machine != EM_X86_64) {
    return Refuse("machine",
                  fmt::format("built for ELF machine {}, this is x86-64 ({}): build the plugin for "
                              "this machine",
                              header_.e_machine, EM_X86_64));
  }
  if (header_.e_type != ET_DYN) {
    return Refuse("type",
                  fmt::format("ELF type {} is no shared object ({})", header_.e_type, ET_DYN));
  }
  if (header_.e_version != EV_CURRENT || header_.e_ehsize < sizeof(Elf64_Ehdr)) {
    return Refuse("malformed", "the ELF header's version or size is wrong");
  }
  return std::nullopt;
}

ElfReader::Fault ElfReader::ReadSections() const {
  if (header_.e_shoff == 0) {
    return std::nullopt;  // stripped of its section table: fine
  }
  if (header_.e_shentsize != sizeof(Elf64_Shdr)) {
    return Refuse("malformed", fmt::format("section headers of {} bytes", header_.e_shentsize));
  }
  uint64_t count = header_.e_shnum;
  Elf64_Shdr first = {};
  if (!Load(header_.e_shoff, &first)) {
    return Refuse("malformed", "the section table lies outside the file");
  }
  if (count == 0) {
    count = first.sh_size;  // more than fit e_shnum
  }
  if (count > file_.size() / sizeof(Elf64_Shdr) ||
      !Contains(header_.e_shoff, count * sizeof(Elf64_Shdr))) {
    return Refuse("malformed", "the section table lies outside the file");
  }
  for (uint64_t i = 0; i < count; ++i) {
    Elf64_Shdr section = {};
    Load(header_.e_shoff + i * sizeof(Elf64_Shdr), &section);
    const bool has_bytes = section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL;
    if (has_bytes && !Contains(section.sh_offset, section.sh_size)) {
      return Refuse("malformed", fmt::format("section {} lies outside the file", i));
    }
  }
  return std::nullopt;
}

ElfReader::Fault ElfReader::ReadSegments() {
  if (header_.e_phnum == 0 || header_.e_phnum > kMaxHeaders ||
      header_.e_phentsize != sizeof(Elf64_Phdr)) {
    return Refuse(
        "malformed",
        fmt::format("{} program headers of {} bytes (1 to {} of {} are read)", header_.e_phnum,
                    header_.e_phentsize, kMaxHeaders, sizeof(Elf64_Phdr)));
  }
  const Elf64_Phdr* stack = nullptr;
  segments_.resize(header_.e_phnum);
  for (size_t i = 0; i < segments_.size(); ++i) {
    Elf64_Phdr& segment = segments_[i];
    if (header_.e_phoff > file_.size() ||
        !Load(header_.e_phoff + i * sizeof(Elf64_Phdr), &segment)) {
      return Refuse("malformed", "the program headers lie outside the file");
    }
    if (Fault fault = CheckSegment(segment, i)) {
      return fault;
    }
    switch (segment.p_type) {
      case PT_LOAD:
        loads_.push_back(segment);
        break;
      case PT_DYNAMIC:
        if (dynamic_.has_value()) {
          return Refuse("malformed", "two dynamic sections");
        }
        dynamic_ = segment;
        break;
      case PT_GNU_STACK:
        stack = &segment;
        break;
      case PT_INTERP:
        return Refuse("type", "an executable, no shared object");
      default:
        break;
    }
  }
  if (stack == nullptr || (stack->p_flags & PF_X) != 0) {
    return Refuse("execstack",
                  "asks for an executable stack, which loading it would give to the whole process: "
                  "link with -Wl,-z,noexecstack");
  }
  return std::nullopt;
}

ElfReader::Fault ElfReader::CheckSegment(const Elf64_Phdr& segment, size_t index) const {
  if (segment.p_type == PT_NULL || segment.p_type == PT_GNU_STACK) {
    return std::nullopt;
  }
  if (!Contains(segment.p_offset, segment.p_filesz)) {
    return Refuse(
        "malformed",
        fmt::format("segment {} needs bytes {} to {} of a file of {}: the file is cut", index,
                    segment.p_offset, segment.p_offset + segment.p_filesz, file_.size()));
  }
  if (segment.p_type == PT_LOAD &&
      (segment.p_filesz > segment.p_memsz || segment.p_vaddr > kMaxImageBytes ||
       segment.p_memsz > kMaxImageBytes ||
       segment.p_vaddr % kPageBytes != segment.p_offset % kPageBytes ||
       (segment.p_align & (segment.p_align - 1)) != 0 || segment.p_align > kMaxImageBytes)) {
    return Refuse("malformed", fmt::format("segment {} cannot be mapped", index));
  }
  if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W) != 0 && (segment.p_flags & PF_X) != 0) {
    return Refuse("wx", fmt::format("segment {} is writable and executable at once: link without "
                                    "-z,rwx-segments or omagic",
                                    index));
  }
  return std::nullopt;
}

ElfReader::Fault ElfReader::CheckLoads() const {
  if (loads_.empty()) {
    return Refuse("malformed", "nothing to load");
  }
  uint64_t end = 0;
  for (const Elf64_Phdr& load : loads_) {
    if (load.p_vaddr < end) {
      return Refuse("malformed", "segments overlap or are not in order");
    }
    end = load.p_vaddr + load.p_memsz;
  }
  if (end > kMaxImageBytes) {
    return Refuse("malformed", fmt::format("would map {} bytes", end));
  }
  return std::nullopt;
}

bool ElfReader::ToOffset(uint64_t address, uint64_t bytes, uint64_t* offset) const {
  for (const Elf64_Phdr& load : loads_) {
    if (address >= load.p_vaddr && address - load.p_vaddr <= load.p_filesz &&
        bytes <= load.p_filesz - (address - load.p_vaddr)) {
      *offset = load.p_offset + (address - load.p_vaddr);
      return true;
    }
  }
  return false;
}

ElfReader::Fault ElfReader::ReadDynamic() {
  if (!dynamic_.has_value()) {
    return Refuse("malformed", "no dynamic section: not a shared object");
  }
  // The loader reads it through its address, so that is what is judged.
  uint64_t offset = 0;
  if (!ToOffset(dynamic_->p_vaddr, dynamic_->p_filesz, &offset)) {
    return Refuse("malformed", "the dynamic section is not loaded from the file");
  }
  const uint64_t count = dynamic_->p_filesz / sizeof(Elf64_Dyn);
  for (uint64_t i = 0; i < count; ++i) {
    if (i == kMaxDynamicEntries) {
      return Refuse("malformed", "the dynamic section is too long");
    }
    Elf64_Dyn entry = {};
    Load(offset + i * sizeof(Elf64_Dyn), &entry);
    if (entry.d_tag == DT_NULL) {
      return std::nullopt;
    }
    if (Fault fault = TakeDynamicEntry(entry)) {
      return fault;
    }
  }
  return Refuse("malformed", "the dynamic section does not end");
}

ElfReader::Fault ElfReader::TakeDynamicEntry(const Elf64_Dyn& entry) {
  const uint64_t value = entry.d_un.d_val;
  const auto text_relocations = [] {
    return Refuse("textrel", "has relocations in its code: compile with -fPIC");
  };
  switch (entry.d_tag) {
    case DT_STRTAB:
      strings_ = value;
      break;
    case DT_STRSZ:
      string_bytes_ = value;
      break;
    case DT_SYMTAB:
      symbols_ = value;
      break;
    case DT_SYMENT:
      symbol_entry_bytes_ = value;
      break;
    case DT_HASH:
      hash_ = value;
      break;
    case DT_GNU_HASH:
      gnu_hash_ = value;
      break;
    case DT_NEEDED:
      needed_.push_back(value);
      break;
    case DT_RPATH:
    case DT_RUNPATH:
      run_paths_.push_back(value);
      break;
    case DT_TEXTREL:
      return text_relocations();
    case DT_FLAGS:
      if ((value & DF_TEXTREL) != 0) {
        return text_relocations();
      }
      break;
    case DT_FLAGS_1:
      if ((value & DF_1_PIE) != 0) {
        return Refuse("type", "an executable, no shared object");
      }
      break;
    default:
      break;
  }
  return std::nullopt;
}

bool ElfReader::String(uint64_t index, std::string* out) const {
  if (index >= string_bytes_) {
    return false;
  }
  const std::string_view rest =
      Text(strings_offset_ + index, std::min<uint64_t>(string_bytes_ - index, kMaxNameBytes));
  const size_t end = rest.find('\0');
  if (end == std::string_view::npos) {
    return false;
  }
  *out = rest.substr(0, end);
  return true;
}

ElfReader::Fault ElfReader::ReadStrings() {
  if (string_bytes_ == 0 || !ToOffset(strings_, string_bytes_, &strings_offset_)) {
    return Refuse("malformed", "the string table is not loaded from the file");
  }
  for (const uint64_t index : needed_) {
    std::string name;
    if (!String(index, &name)) {
      return Refuse("malformed", "the name of a needed library lies outside the string table");
    }
    facts_->needed.push_back(std::move(name));
  }
  for (const uint64_t index : run_paths_) {
    std::string paths;
    if (!String(index, &paths)) {
      return Refuse("malformed", "the library search path lies outside the string table");
    }
    for (size_t at = 0; at <= paths.size();) {
      const size_t end = std::min(paths.find(':', at), paths.size());
      const std::string path = paths.substr(at, end - at);
      if (!path.starts_with("$ORIGIN") && !path.starts_with("${ORIGIN}")) {
        return Refuse("runpath",
                      fmt::format("looks for libraries in '{}': only paths below $ORIGIN are let "
                                  "in; link with -Wl,-rpath,'$ORIGIN/...' or none",
                                  path));
      }
      at = end + 1;
    }
  }
  return std::nullopt;
}

// How many symbols there are is only said by the hash table.
ElfReader::Fault ElfReader::CountSymbols(uint64_t* count) const {
  if (gnu_hash_ != 0) {
    return CountGnuHashSymbols(count);
  }
  uint64_t offset = 0;
  if (hash_ == 0 || !ToOffset(hash_, 2 * sizeof(uint32_t), &offset)) {
    return Refuse("malformed", "no usable symbol hash table");
  }
  uint32_t chains = 0;
  Load(offset + sizeof(uint32_t), &chains);
  *count = chains;
  return std::nullopt;
}

ElfReader::Fault ElfReader::CountGnuHashSymbols(uint64_t* count) const {
  struct Header {
    uint32_t num_buckets, first_symbol, num_bloom, bloom_shift;
  } table = {};

  uint64_t offset = 0;
  if (!ToOffset(gnu_hash_, sizeof(table), &offset)) {
    return Refuse("malformed", "the symbol hash table is not loaded from the file");
  }
  Load(offset, &table);
  const uint64_t buckets = gnu_hash_ + sizeof(table) + uint64_t{8} * table.num_bloom;
  const uint64_t chains = buckets + uint64_t{4} * table.num_buckets;
  if (!ToOffset(buckets, uint64_t{4} * table.num_buckets, &offset)) {
    return Refuse("malformed", "the symbol hash table is cut");
  }
  uint32_t last = 0;
  for (uint32_t i = 0; i < table.num_buckets; ++i) {
    uint32_t symbol = 0;
    Load(offset + uint64_t{4} * i, &symbol);
    last = std::max(last, symbol);
  }
  *count = table.first_symbol;
  if (last < table.first_symbol) {
    return std::nullopt;  // exports nothing
  }
  // The chain of the last bucket ends with a value whose lowest bit is set.
  for (uint64_t symbol = last;; ++symbol) {
    uint32_t value = 0;
    if (!ToOffset(chains + 4 * (symbol - table.first_symbol), sizeof(value), &offset)) {
      return Refuse("malformed", "the symbol hash table is cut");
    }
    Load(offset, &value);
    if ((value & 1) != 0) {
      *count = symbol + 1;
      return std::nullopt;
    }
  }
}

ElfReader::Fault ElfReader::ReadExports(const ElfGateOptions& options) {
  uint64_t count = 0;
  if (Fault fault = CountSymbols(&count)) {
    return fault;
  }
  uint64_t offset = 0;
  if (symbol_entry_bytes_ != sizeof(Elf64_Sym) || count > file_.size() / sizeof(Elf64_Sym) ||
      !ToOffset(symbols_, count * sizeof(Elf64_Sym), &offset)) {
    return Refuse("malformed", "the symbol table is not loaded from the file");
  }
  std::vector<std::string> others;
  size_t num_others = 0;
  for (uint64_t i = 1; i < count; ++i) {
    Elf64_Sym symbol = {};
    Load(offset + i * sizeof(symbol), &symbol);
    const unsigned char bind = ELF64_ST_BIND(symbol.st_info);
    const unsigned char visibility = ELF64_ST_VISIBILITY(symbol.st_other);
    const bool is_export = symbol.st_shndx != SHN_UNDEF &&
                           (bind == STB_GLOBAL || bind == STB_WEAK || bind == kBindGnuUnique) &&
                           (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
    if (!is_export) {
      continue;
    }
    std::string name;
    if (!String(symbol.st_name, &name)) {
      return Refuse("malformed", fmt::format("the name of symbol {} is outside the file", i));
    }
    if (!name.starts_with("ft_plugin_")) {
      ++num_others;
      if (others.size() < 5) {
        others.push_back(name);
      }
      if (options.allow_other_exports) {
        continue;  // not listed: sanitizers add thousands
      }
    }
    facts_->exports.push_back(std::move(name));
  }
  std::sort(facts_->exports.begin(), facts_->exports.end());
  if (num_others != 0 && !options.allow_other_exports) {
    return Refuse(
        "exports",
        fmt::format("exports {} symbols besides ft_plugin_*: {}{}; link with a version "
                    "script, as ft_add_plugin does",
                    num_others, fmt::join(others, ", "), num_others > others.size() ? ", …" : ""));
  }
  return std::nullopt;
}

ElfReader::Fault ElfReader::ReadNotes(const Elf64_Phdr& segment) {
  const uint64_t align = segment.p_align == 8 ? 8 : 4;
  const auto padded = [align](uint64_t bytes) { return (bytes + align - 1) / align * align; };
  uint64_t at = segment.p_offset;
  const uint64_t end = segment.p_offset + segment.p_filesz;
  while (end - at >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr note = {};
    Load(at, &note);
    const uint64_t name_at = at + sizeof(note);
    const uint64_t text_at = name_at + padded(note.n_namesz);
    if (text_at > end || note.n_descsz > end - text_at) {
      return Refuse("malformed", "a note runs past the end of its segment");
    }
    if (++num_notes_ > kMaxNotes) {
      return Refuse("malformed", "too many notes");
    }
    TakeNote(note, Text(name_at, note.n_namesz), Text(text_at, note.n_descsz));
    at = std::min(end, text_at + padded(note.n_descsz));
  }
  return std::nullopt;
}

void ElfReader::TakeNote(const Elf64_Nhdr& note, std::string_view name, std::string_view text) {
  const std::string_view owner = name.substr(0, std::min(name.find('\0'), name.size()));
  if (owner == "FT" && note.n_type == FT_NOTE_TYPE_MANIFEST) {
    while (text.ends_with('\0')) {
      text.remove_suffix(1);
    }
    facts_->manifests.push_back(text);
  }
  if (owner == ELF_NOTE_GNU && note.n_type == NT_GNU_BUILD_ID && text.size() <= 64) {
    facts_->build_id.clear();
    for (const char c : text) {
      facts_->build_id += fmt::format("{:02x}", static_cast<unsigned char>(c));
    }
  }
}

}  // namespace

std::optional<FileFault> ReadElf(std::span<const std::byte> file,
                                 const ElfGateOptions& options,
                                 ElfFacts* facts) {
  *facts = ElfFacts();
  return ElfReader(file, facts).Run(options);
}

}  // namespace ft
