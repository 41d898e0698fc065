#ifndef FT_PLUGIN_TENSOR_H
#define FT_PLUGIN_TENSOR_H
/* NOLINTBEGIN(modernize-*,readability-*,cppcoreguidelines-*,google-*,bugprone-*): plain C by
 * contract */
#include "ft/plugin/abi.h"

/* Element types; the numbers are those of core/tensor/dtype.h. Append only. */
#define FT_DTYPE_F32 0u
#define FT_DTYPE_F16 1u
#define FT_DTYPE_BF16 2u
#define FT_DTYPE_F8_E4M3 3u
#define FT_DTYPE_F8_E5M2 4u
#define FT_DTYPE_F8_E8M0 5u
#define FT_DTYPE_U8 6u
#define FT_DTYPE_I8 7u
#define FT_DTYPE_I32 8u
#define FT_DTYPE_I64 9u
#define FT_DTYPE_BOOL 10u
#define FT_DTYPE_F64 11u
#define FT_DTYPE_U16 12u
#define FT_DTYPE_U32 13u
#define FT_DTYPE_U64 14u
#define FT_DTYPE_I16 15u

/* Where memory is. Device memory must not be read or written by the host: on `sim` that faults. */
#define FT_MEM_HOST 1u        /* pageable            */
#define FT_MEM_HOST_PINNED 2u /* page-locked, mapped */
#define FT_MEM_DEVICE 3u

/* deliberately DLPack-shaped; strides in elements; byte_offset already applied to data */
typedef struct ft_tensor {
  void* data;
  int32_t device_kind, device;
  uint16_t dtype, reserved0;
  int32_t ndim;
  const int64_t* shape;
  const int64_t* strides;
  uint64_t bytes;
} ft_tensor;

FT_STATIC_ASSERT(sizeof(ft_tensor) == 48, "tensor is frozen by value, it has no header");
/* NOLINTEND(modernize-*,readability-*,cppcoreguidelines-*,google-*,bugprone-*) */
#endif
