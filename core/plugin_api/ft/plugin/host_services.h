/* What the host offers to a plugin, by name: host->service(host->ctx, "ft.log", 0).
 * Tables live as long as the process. Every function may be called from any thread unless marked
 * [owner] (the thread that calls the component) . */
#ifndef FT_PLUGIN_HOST_SERVICES_H
#define FT_PLUGIN_HOST_SERVICES_H
/* NOLINTBEGIN(modernize-*,readability-*,cppcoreguidelines-*,google-*,bugprone-*): plain C by
 * contract */
#include "ft/plugin/abi.h"
#include "ft/plugin/tensor.h"
FT_C_BEGIN

/* ---- ft.log 0 ----------------------------------------------------------------------------------
 */
#define FT_LOG_TRACE 0
#define FT_LOG_DEBUG 1
#define FT_LOG_INFO 2
#define FT_LOG_WARNING 3
#define FT_LOG_ERROR 4

typedef struct ft_svc_log {
  ft_hdr hdr;
  void* ctx;
  int32_t (*enabled)(void* ctx, int32_t level) FT_NOEXCEPT;
  /* one line; control characters are escaped by the host */
  void (*write)(void* ctx, int32_t level, ft_str component, ft_str text) FT_NOEXCEPT;
} ft_svc_log;

/* ---- executors: who runs a kernel's loop --------------------------------------------------------
 */
/* Handles [begin, end) of an index range. `worker` < n_workers; no two calls with one worker
 * overlap. */
typedef void (*ft_range_fn)(void* arg, uint32_t worker, uint64_t begin, uint64_t end);

typedef struct ft_exec {
  ft_hdr hdr;
  void* ctx;
  uint32_t n_workers, reserved0;
  /* Runs fn over [0, n) in pieces of at least `grain`, blocks until all is done. The caller is one
   * of the workers. A call from inside fn runs inline. Never fails; fn must not throw. */
  void (*parallel_for)(void* ctx, uint64_t n, uint64_t grain, ft_range_fn fn, void* arg)
      FT_NOEXCEPT;
} ft_exec;

/* ---- ft.memory 0: bulk memory; accounted per plugin and capped by the plan it returned
 * ----------- */
typedef struct ft_svc_memory {
  ft_hdr hdr;
  void* ctx;
  /* `kind` FT_MEM_*; `align` a power of two, 0 means 64; host memory is zeroed, device memory holds
   * anything. FT_E_NO_MEMORY, with the numbers, beyond the plan or the device. Not during a step.
   */
  ft_code (*alloc)(void* ctx,
                   uint32_t kind,
                   uint64_t bytes,
                   uint64_t align,
                   ft_str label,
                   void** out,
                   ft_error*) FT_NOEXCEPT;
  void (*free)(void* ctx, uint32_t kind, void* p) FT_NOEXCEPT;
} ft_svc_memory;

/* ---- ft.device 0: streams, events, copies on the device the instance was created for
 * -------------
 * Work may run at any time between its call and the moment the host waits for it: whoever shares
 * memory between two streams, or with the host, needs an event. On `cpu` work is done on return. */
typedef struct ft_stream ft_stream; /* work on one stream runs in order */
typedef struct ft_event ft_event;   /* a point in a stream's work */
#define FT_COPY_HOST_TO_DEVICE 1u
#define FT_COPY_DEVICE_TO_HOST 2u
#define FT_COPY_DEVICE_TO_DEVICE 3u

typedef struct ft_svc_device {
  ft_hdr hdr;
  void* ctx;
  ft_code (*stream_create)(void* ctx, ft_stream** out, ft_error*) FT_NOEXCEPT;
  void (*stream_destroy)(void* ctx, ft_stream*) FT_NOEXCEPT;
  ft_code (*event_create)(void* ctx, ft_event** out, ft_error*) FT_NOEXCEPT;
  void (*event_destroy)(void* ctx, ft_event*) FT_NOEXCEPT;
  /* src and dst must stay valid and unwritten until the stream has passed the copy */
  ft_code (*copy_async)(void* ctx,
                        ft_stream*,
                        void* dst,
                        const void* src,
                        uint64_t bytes,
                        uint32_t direction,
                        ft_error*) FT_NOEXCEPT;
  ft_code (*event_record)(void* ctx, ft_event*, ft_stream*, ft_error*) FT_NOEXCEPT;
  ft_code (*stream_wait)(void* ctx, ft_stream*, ft_event*, ft_error*) FT_NOEXCEPT; /* device side */
  ft_code (*event_sync)(void* ctx, ft_event*, ft_error*) FT_NOEXCEPT;              /* host blocks */
  ft_code (*stream_sync)(void* ctx, ft_stream*, ft_error*) FT_NOEXCEPT;            /* host blocks */
  /* When the stream passed the point last recorded, on the device's clock (virtual on `sim`).
   * FT_E_BUSY when it has not yet, FT_E_FAILED_PRECOND when nothing was recorded. */
  ft_code (*event_time_ns)(void* ctx, ft_event*, uint64_t* out, ft_error*) FT_NOEXCEPT;
} ft_svc_device;

/* ---- ft.config 0: keys under the plugin's own name and those its manifest lists
 * ------------------- */
typedef struct ft_svc_config {
  ft_hdr hdr;
  void* ctx;
  /* FT_E_NOT_FOUND: not set, and the manifest has no default. Strings live as the table does. */
  ft_code (*get_str)(void* ctx, ft_str key, ft_str* out, ft_error*) FT_NOEXCEPT;
  ft_code (*get_i64)(void* ctx, ft_str key, int64_t* out, ft_error*) FT_NOEXCEPT;
  ft_code (*get_f64)(void* ctx, ft_str key, double* out, ft_error*) FT_NOEXCEPT;
} ft_svc_config;

#define FT_TAG_SVC_LOG 0x4c4f4753u
#define FT_TAG_SVC_MEMORY 0x4d454d53u
#define FT_TAG_SVC_DEVICE 0x44455653u
#define FT_TAG_SVC_CONFIG 0x434f4e53u
#define FT_TAG_EXEC 0x45584543u
FT_C_END
/* NOLINTEND(modernize-*,readability-*,cppcoreguidelines-*,google-*,bugprone-*) */
#endif
