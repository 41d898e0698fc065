/* The envelope of the plugin ABI: version, errors, strings, the plugin's table, its one exported
 * symbol. Plain C11 / C++17, nothing beyond stddef.h and stdint.h. What a component does is in the
 * header of its kind (quantization.h, moe_backend.h, parser.h); what the host offers in
 * host_services.h.
 *
 * Rules: every growable struct starts with ft_hdr {size, tag}; sizes are compared with >=, zero is
 * refused; functions never throw; a non-zero ft_code leaves outputs as they were and fills
 * ft_error; pointers are borrowed for the call unless said otherwise. 0.x: host and plugin agree
 * when the major is equal and neither side's needed minor is above the other's. */
#ifndef FT_PLUGIN_ABI_H
#define FT_PLUGIN_ABI_H
#include <stddef.h>
#include <stdint.h>

#define FT_ABI_MAJOR 0u
#define FT_ABI_MINOR 1u

/* NOLINTBEGIN(modernize-*,readability-identifier-naming,cppcoreguidelines-*): plain C by contract
 */
#if defined(__cplusplus)
#  define FT_C_BEGIN extern "C" {
#  define FT_C_END }
#  define FT_NOEXCEPT noexcept
#  define FT_STATIC_ASSERT static_assert
#else
#  define FT_C_BEGIN
#  define FT_C_END
#  define FT_NOEXCEPT
#  define FT_STATIC_ASSERT _Static_assert
#endif
#define FT_EXPORT __attribute__((visibility("default")))

/* bytes of `type` up to and including member `m` */
#if defined(__cplusplus)
#  define FT_SIZE_THRU(type, m) (static_cast<uint32_t>(offsetof(type, m) + sizeof(type::m)))
#else
#  define FT_SIZE_THRU(type, m) ((uint32_t)(offsetof(type, m) + sizeof(((type*)0)->m)))
#endif
/* is member `m` inside what the producer of *p filled in? */
#define FT_HAS(p, type, m) ((p) != NULL && (p)->hdr.size >= FT_SIZE_THRU(type, m))

FT_C_BEGIN

typedef struct ft_ext {      /* optional add-ons, singly linked */
  uint32_t size;             /* bytes valid, this header included */
  uint32_t tag;              /* which struct this is (FT_TAG_*)   */
  const struct ft_ext* next; /* NULL ends the chain               */
} ft_ext;

typedef ft_ext ft_hdr; /* every ABI struct starts with one  */

typedef struct ft_str {
  const char* ptr;
  uint64_t len;
} ft_str; /* UTF-8, borrowed */

typedef int32_t ft_code;
#define FT_OK 0
#define FT_E_INVALID_ARG 1
#define FT_E_UNSUPPORTED 2 /* unknown enum, shape, format: never guess */
#define FT_E_NOT_FOUND 3
#define FT_E_FAILED_PRECOND 4 /* a declared requirement does not hold     */
#define FT_E_NO_MEMORY 5
#define FT_E_BUSY 6
#define FT_E_TIMEOUT 7
#define FT_E_CANCELLED 8
#define FT_E_DEVICE 9 /* driver/runtime call failed               */
#define FT_E_DATA 10  /* corrupt or inconsistent input data       */
#define FT_E_INTERNAL 11
#define FT_E_ABI 12 /* version negotiation failed               */

typedef struct ft_error { /* caller-owned; callee fills; nothing to free */
  ft_hdr hdr;
  ft_code code;
  uint32_t native;   /* e.g. CUresult, errno; 0 = none            */
  char message[512]; /* NUL-terminated, UTF-8                     */
  char remedy[256];  /* what a person could do; may be empty      */
} ft_error;

typedef struct ft_host ft_host;

struct ft_host {
  ft_hdr hdr;
  uint32_t abi_major, abi_minor; /* what the host speaks                      */
  uint32_t mode;                 /* FT_MODE_*                                 */
  uint32_t reserved0;
  ft_str product; /* "ft 0.9.1+g1234abc" - for messages only   */
  void* ctx;
  /* table for service `id` at `major`, or NULL. Tables live as long as the process. */
  const void* (*service)(void* ctx, const char* id, uint32_t major)FT_NOEXCEPT;
};

#define FT_MODE_SERVE 1u
#define FT_MODE_PROBE 2u /* inside the throw-away probe process        */
#define FT_MODE_TEST 3u  /* conformance kit                            */

typedef struct ft_component { /* one thing the plugin provides              */
  ft_hdr hdr;
  ft_str kind;           /* "moe_backend"                              */
  ft_str name;           /* "hybrid"                                   */
  uint32_t major, minor; /* interface version of *vtable               */
  const void* vtable;    /* ft_moe_backend_v1 etc., static lifetime    */
} ft_component;

typedef struct ft_plugin {
  ft_hdr hdr;
  uint32_t abi_major, abi_minor; /* header the plugin was compiled with        */
  uint32_t need_minor;           /* least host abi_minor it can live with      */
  uint32_t n_components;
  ft_str id, version, build_id; /* must equal the manifest note               */
  const ft_component* const* components;
  ft_code (*start)(const ft_host*, void** state, ft_error*) FT_NOEXCEPT; /* may be NULL */
  ft_code (*self_check)(
      void* state,
      void* sink_ctx, /* may be NULL */
      void (*sink)(void*, ft_str req_id, uint32_t verdict, ft_str evidence, ft_str remedy)
          FT_NOEXCEPT,
      ft_error*) FT_NOEXCEPT;
  void (*stop)(void* state) FT_NOEXCEPT; /* may be NULL */
} ft_plugin;

typedef const ft_plugin* (*ft_plugin_entry_fn)(const ft_host*, ft_error*);
#define FT_PLUGIN_ENTRY_SYMBOL "ft_plugin_entry_v1"

#define FT_TAG_ERROR 0x46544552u
#define FT_TAG_HOST 0x46544853u
#define FT_TAG_PLUGIN 0x4654504cu
#define FT_TAG_COMPONENT 0x46544350u

FT_C_END

/* sizes of this minor: later minors grow past them, never change them */
FT_STATIC_ASSERT(sizeof(ft_hdr) == 16, "hdr");
FT_STATIC_ASSERT(sizeof(ft_str) == 16, "str");
FT_STATIC_ASSERT(offsetof(ft_error, message) == 24, "error.message");
FT_STATIC_ASSERT(sizeof(ft_error) == 792, "error");
FT_STATIC_ASSERT(FT_SIZE_THRU(ft_host, service) == 64, "host");
FT_STATIC_ASSERT(FT_SIZE_THRU(ft_component, vtable) == 64, "component");
FT_STATIC_ASSERT(FT_SIZE_THRU(ft_plugin, stop) == 112, "plugin");
/* NOLINTEND(modernize-*,readability-identifier-naming,cppcoreguidelines-*) */
#endif
