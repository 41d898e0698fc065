// The ft.device service: ft/plugin/host_services.h over core/device.
#include "core/base/errors.h"
#include "core/moe/moe_host.h"
#include "core/quant/abi_status.h"

namespace ft {
namespace {

// Handles cross the boundary as opaque pointers to what the device made.
Device* DeviceOf(void* ctx) {
  return static_cast<Device*>(ctx);
}

Stream* StreamOf(ft_stream* stream) {
  return reinterpret_cast<Stream*>(stream);
}

Event* EventOf(ft_event* event) {
  return reinterpret_cast<Event*>(event);
}

ft_code CreateStream(void* ctx, ft_stream** out, ft_error* error) noexcept {
  const Result<Stream*> stream = DeviceOf(ctx)->CreateStream();
  if (!stream.ok()) {
    return FillAbiError(stream.status(), error);
  }
  *out = reinterpret_cast<ft_stream*>(*stream);
  return FT_OK;
}

ft_code CreateEvent(void* ctx, ft_event** out, ft_error* error) noexcept {
  const Result<Event*> event = DeviceOf(ctx)->CreateEvent();
  if (!event.ok()) {
    return FillAbiError(event.status(), error);
  }
  *out = reinterpret_cast<ft_event*>(*event);
  return FT_OK;
}

ft_code Copy(void* ctx,
             ft_stream* stream,
             void* dst,
             const void* src,
             uint64_t bytes,
             uint32_t direction,
             ft_error* error) noexcept {
  if (direction < FT_COPY_HOST_TO_DEVICE || direction > FT_COPY_DEVICE_TO_DEVICE) {
    return FillAbiError(InvalidArgument("copy_async: direction {}", direction), error);
  }
  return FillAbiError(DeviceOf(ctx)->CopyAsync(StreamOf(stream), dst, src, bytes,
                                               static_cast<CopyDirection>(direction)),
                      error);
}

ft_code EventTime(void* ctx, ft_event* event, uint64_t* out, ft_error* error) noexcept {
  const Result<double> time_us = DeviceOf(ctx)->EventTimeUs(EventOf(event));
  if (!time_us.ok()) {
    return FillAbiError(time_us.status(), error);
  }
  *out = static_cast<uint64_t>(*time_us * 1000);
  return FT_OK;
}

}  // namespace

void MoeHost::FillDeviceTable() {
  device_ = {};
  device_.hdr = {sizeof(device_), FT_TAG_SVC_DEVICE, nullptr};
  device_.ctx = options_.device;
  device_.stream_create = CreateStream;
  device_.stream_destroy = [](void* ctx, ft_stream* stream) noexcept {
    DeviceOf(ctx)->DestroyStream(StreamOf(stream));
  };
  device_.event_create = CreateEvent;
  device_.event_destroy = [](void* ctx, ft_event* event) noexcept {
    DeviceOf(ctx)->DestroyEvent(EventOf(event));
  };
  device_.copy_async = Copy;
  device_.event_record = [](void* ctx, ft_event* event, ft_stream* stream,
                            ft_error* error) noexcept {
    return FillAbiError(DeviceOf(ctx)->RecordEvent(EventOf(event), StreamOf(stream)), error);
  };
  device_.stream_wait = [](void* ctx, ft_stream* stream, ft_event* event,
                           ft_error* error) noexcept {
    return FillAbiError(DeviceOf(ctx)->WaitEvent(StreamOf(stream), EventOf(event)), error);
  };
  device_.event_sync = [](void* ctx, ft_event* event, ft_error* error) noexcept {
    return FillAbiError(DeviceOf(ctx)->SyncEvent(EventOf(event)), error);
  };
  device_.stream_sync = [](void* ctx, ft_stream* stream, ft_error* error) noexcept {
    return FillAbiError(DeviceOf(ctx)->SyncStream(StreamOf(stream)), error);
  };
  device_.event_time_ns = EventTime;
}

}  // namespace ft
