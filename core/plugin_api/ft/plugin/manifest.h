/* Embeds the manifest: one string literal becomes an allocated ELF note (PT_NOTE), name "FT". The
 * note's text is padded with zero bytes, which count as part of it and which readers leave out: the
 * next note then starts where a reader looks for it. */
#ifndef FT_PLUGIN_MANIFEST_H
#define FT_PLUGIN_MANIFEST_H
/* NOLINTBEGIN(modernize-*,readability-*,cppcoreguidelines-*,google-*,bugprone-*): plain C by
 * contract */
#include <stdint.h>
#define FT_NOTE_TYPE_MANIFEST 0x46540001u
#define FT_PLUGIN_MANIFEST(json)                                                          \
  struct ft_note_manifest_s {                                                             \
    uint32_t namesz, descsz, type;                                                        \
    char name[4];                                                                         \
    char desc[(sizeof(json) + 3) / 4 * 4];                                                \
  };                                                                                      \
  __attribute__((section(".note.ft.plugin"), used,                                        \
                 aligned(4))) static const struct ft_note_manifest_s ft_note_manifest = { \
      4, (sizeof(json) + 3) / 4 * 4, FT_NOTE_TYPE_MANIFEST, {'F', 'T', 0, 0}, json}
/* NOLINTEND(modernize-*,readability-*,cppcoreguidelines-*,google-*,bugprone-*) */
#endif
