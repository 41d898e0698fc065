/* One plugin, many faults: each switch (ZOO_*) turns one good thing into a bad one. */
#define _GNU_SOURCE
#include <sys/wait.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#  include <xmmintrin.h>
#endif

#include "ft/plugin/manifest.h"
#include "ft/plugin/parser.h"

#ifndef ZOO_REQUIRES
#  define ZOO_REQUIRES ""
#endif
#ifndef ZOO_MANIFEST
#  define ZOO_MANIFEST                                                                        \
    "{\"schema\":\"ft.plugin/1\",\"id\":\"org.example.zoo\",\"version\":\"1.2.0\",\"title\":" \
    "\"Zoo\",\"license\":\"Apache-2.0\",\"abi\":{\"core\":\"0.1\",\"need_core\":\"0.1\"},"    \
    "\"provides\":[{\"kind\":\"tool_parser\",\"name\":\"zoo\",\"version\":\"0.1\"}],"         \
    "\"requires\":[" ZOO_REQUIRES "]}"
#endif
#ifndef ZOO_NO_NOTE
FT_PLUGIN_MANIFEST(ZOO_MANIFEST);
#endif
#ifndef ZOO_TAG
#  define ZOO_TAG FT_TAG_PLUGIN
#endif
#ifndef ZOO_SIZE
#  define ZOO_SIZE sizeof(ft_plugin)
#endif
#ifndef ZOO_MAJOR
#  define ZOO_MAJOR FT_ABI_MAJOR
#endif
#ifndef ZOO_NEED_MINOR
#  define ZOO_NEED_MINOR 1
#endif
#ifndef ZOO_VERSION
#  define ZOO_VERSION "1.2.0"
#endif
#ifndef ZOO_FEED
#  define ZOO_FEED Feed
#endif

#define TEXT(x) \
  { x, sizeof(x) - 1 }

__attribute__((unused)) static void crash_now(void) {
  abort();
}

__attribute__((unused)) static void hang_now(void) {
  for (;;) {
    pause();
  }
}

/* Claims success without knowing the nonce, and leaves. */
__attribute__((unused)) static void forge_now(void) {
  static const char kWords[] = "done=1\nend=0000\n";
  if (write(3, kWords, sizeof(kWords) - 1) > 0) {
    _exit(0);
  }
}

__attribute__((unused)) static void change_folder(void) {
  if (chdir("/") != 0) {
    abort();
  }
}

__attribute__((unused)) static void install_handler(void) {
  signal(SIGPIPE, SIG_IGN);
}

__attribute__((unused)) static void flush_denormals(void) {
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
}

__attribute__((unused)) static void write_much(void) {
  char line[4096];
  memset(line, 'x', sizeof(line));
  for (int i = 0; i < 4096; ++i) {
    if (write(1, line, sizeof(line)) < 0) {
      return;
    }
  }
}

/* A process that outlives the probe and holds its pipes open. */
__attribute__((unused)) static void leave_child(void) {
  if (fork() == 0) {
    hang_now();
  }
  _exit(0);
}

#ifdef ZOO_CONSTRUCTOR
__attribute__((constructor)) static void Construct(void) {
  ZOO_CONSTRUCTOR;
}
#endif

#ifdef ZOO_UNDEFINED
extern void ft_zoo_is_nowhere(void);
#endif
#ifdef ZOO_TWO_EXPORTS
FT_EXPORT int zoo_second_export(void);

FT_EXPORT int zoo_second_export(void) {
  return 1;
}
#endif

static ft_code Matches(void* state, ft_str text, int32_t* score, ft_error* error) {
  (void)state, (void)text, (void)error;
  *score = 0;
  return FT_OK;
}

static ft_code Marker(void* state, uint32_t index, ft_marker* out, ft_error* error) {
  (void)state, (void)index, (void)out, (void)error;
  return FT_E_NOT_FOUND;
}

static ft_code PromptState(void* state, ft_str prompt, uint32_t* in_reasoning, ft_error* error) {
  (void)state, (void)prompt, (void)error;
  *in_reasoning = 0;
  return FT_OK;
}

static ft_code Create(void* state, const ft_parser_options* o, void** inst, ft_error* error) {
  (void)state, (void)o, (void)inst, (void)error;
  return FT_OK;
}

static ft_code Feed(void* i, const ft_piece* p, ft_event_sink sink, void* ctx, ft_error* error)
    __attribute__((unused));

static ft_code Feed(void* i, const ft_piece* p, ft_event_sink sink, void* ctx, ft_error* error) {
  (void)i, (void)p, (void)sink, (void)ctx, (void)error;
  return FT_OK;
}

static ft_code Finish(void* i, ft_event_sink sink, void* ctx, ft_error* error) {
  (void)i, (void)sink, (void)ctx, (void)error;
  return FT_OK;
}

static ft_code Reset(void* i, ft_error* error) {
  (void)i, (void)error;
  return FT_OK;
}

static void Destroy(void* i) {
  (void)i;
}

static const ft_parser kParser = {{sizeof(ft_parser), FT_TAG_PARSER, 0},
                                  Matches,
                                  Marker,
                                  PromptState,
                                  Create,
                                  ZOO_FEED,
                                  Finish,
                                  Reset,
                                  Destroy};
static const ft_component kComponent = {{sizeof(ft_component), FT_TAG_COMPONENT, 0},
                                        TEXT(FT_KIND_TOOL_PARSER),
                                        TEXT("zoo"),
                                        FT_PARSER_MAJOR,
                                        FT_PARSER_MINOR,
                                        &kParser};
static const ft_component* const kComponents[] = {&kComponent};

#ifdef ZOO_START
static ft_code Start(const ft_host* host, void** state, ft_error* error) {
  (void)host, (void)state, (void)error;
  ZOO_START;
  return FT_OK;
}
#else
#  define Start 0
#endif

static const struct {
  ft_plugin table;
  char tail[128]; /* a later minor's members: a host that trusts `size` may look there */
} kPlugin = {{{ZOO_SIZE, ZOO_TAG, 0},
              ZOO_MAJOR,
              FT_ABI_MINOR,
              ZOO_NEED_MINOR,
              1,
              TEXT("org.example.zoo"),
              TEXT(ZOO_VERSION),
              TEXT(""),
              kComponents,
              Start,
              0,
              0},
             {0}};

#ifdef ZOO_NO_ENTRY
FT_EXPORT int ft_plugin_entry_v2(void);

FT_EXPORT int ft_plugin_entry_v2(void) {
  return kPlugin.tail[0];
}
#else
FT_EXPORT const ft_plugin* ft_plugin_entry_v1(const ft_host* host, ft_error* error);

FT_EXPORT const ft_plugin* ft_plugin_entry_v1(const ft_host* host, ft_error* error) {
  (void)host, (void)error;
#  ifdef ZOO_ENTRY
  ZOO_ENTRY;
#  endif
#  ifdef ZOO_UNDEFINED
  ft_zoo_is_nowhere();
#  endif
#  ifdef ZOO_REFUSES
  strcpy(error->message, "not \033[31mtoday");
  error->code = FT_E_UNSUPPORTED;
  return 0;
#  endif
  return &kPlugin.table;
}
#endif
