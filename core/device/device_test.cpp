#include "core/device/device.h"

#include <array>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "core/device/cpu_device.h"
#include "core/device/sim_device.h"

namespace ft {
namespace {

struct AddArgs {
  const float* weights;  // device, [n]
  float* out;            // host, [n]
  int n;
  float add;
};

Status AddKernel(const DeviceMemory& memory, const void* raw) {
  AddArgs args;
  std::memcpy(&args, raw, sizeof(args));
  const auto* weights = static_cast<const float*>(
      memory.Resolve(args.weights, sizeof(float) * static_cast<size_t>(args.n)));
  if (weights == nullptr) {
    return Status(StatusCode::kInternal, "weights are not device memory");
  }
  for (int i = 0; i < args.n; ++i) {
    args.out[i] = weights[i] + args.add;
  }
  return Status();
}

KernelLaunch AddOf(const AddArgs* args) {
  KernelLaunch launch;
  launch.kernel = AddKernel;
  launch.args = args;
  launch.arg_bytes = sizeof(*args);
  launch.label = "add";
  return launch;
}

std::unique_ptr<Device> SmallSim(uint64_t arena_bytes = 1 << 20) {
  SimDeviceOptions options;
  options.arena_bytes = arena_bytes;
  return MakeSimDevice(options).value();
}

TEST(MakeDeviceTest, ReadsTheWordsThatExistAndRefusesOthersByName) {
  EXPECT_EQ(MakeDevice("cpu").value()->name(), "cpu");
  EXPECT_EQ(MakeDevice("auto").value()->kind(), DeviceKind::kCpu);
  EXPECT_EQ(MakeDevice("sim").value()->name(), "sim:rtx3090");
  EXPECT_EQ(MakeDevice("sim:rtx3090").value()->kind(), DeviceKind::kSim);
  EXPECT_EQ(MakeDevice("cuda:0").status().code(), StatusCode::kUnimplemented);
  EXPECT_EQ(MakeDevice("sim:h100").status().code(), StatusCode::kUnimplemented);
  EXPECT_NE(MakeDevice("sim:h100").status().message().find("sim:h100"), std::string::npos);
  EXPECT_EQ(MakeDevice("tpu").status().code(), StatusCode::kInvalidArgument);
}

class EveryDeviceTest : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Device> device_ = MakeDevice(GetParam()).value();
};

TEST_P(EveryDeviceTest, CopiesInRunsAKernelAndCopiesBack) {
  auto* memory = static_cast<float*>(device_->Allocate(4 * sizeof(float), 64).value());
  EXPECT_EQ(device_->allocated_bytes(), 4 * sizeof(float));
  Stream* stream = device_->CreateStream().value();
  const std::array<float, 4> in = {1, 2, 3, 4};
  std::array<float, 4> out = {};
  std::array<float, 4> back = {};
  ASSERT_TRUE(
      device_->CopyAsync(stream, memory, in.data(), sizeof(in), CopyDirection::kHostToDevice).ok());
  const AddArgs args = {memory, out.data(), 4, 10};
  ASSERT_TRUE(device_->Launch(stream, AddOf(&args)).ok());
  ASSERT_TRUE(
      device_->CopyAsync(stream, back.data(), memory, sizeof(in), CopyDirection::kDeviceToHost)
          .ok());
  ASSERT_TRUE(device_->SyncStream(stream).ok());
  EXPECT_EQ(out, (std::array<float, 4>{11, 12, 13, 14}));
  EXPECT_EQ(back, in);
  EXPECT_EQ(device_->counters().bytes_to_device, sizeof(in));
  EXPECT_EQ(device_->counters().copies, 2U);
  EXPECT_EQ(device_->counters().launches, 1U);
  device_->DestroyStream(stream);
  device_->Free(memory);
  EXPECT_EQ(device_->allocated_bytes(), 0U);
}

TEST_P(EveryDeviceTest, AnEventThatWasNeverRecordedIsPassed) {
  Stream* stream = device_->CreateStream().value();
  Event* event = device_->CreateEvent().value();
  EXPECT_EQ(device_->EventTimeUs(event).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(device_->WaitEvent(stream, event).ok());
  EXPECT_TRUE(device_->SyncEvent(event).ok());
  EXPECT_TRUE(device_->SyncStream(stream).ok());
  ASSERT_TRUE(device_->RecordEvent(event, stream).ok());
  ASSERT_TRUE(device_->SyncEvent(event).ok());
  EXPECT_GE(device_->EventTimeUs(event).value(), 0);
  device_->DestroyEvent(event);
  device_->DestroyStream(stream);
}

TEST_P(EveryDeviceTest, TooManyArgumentsAreRefused) {
  Stream* stream = device_->CreateStream().value();
  KernelLaunch launch;
  launch.kernel = AddKernel;
  launch.arg_bytes = kMaxKernelArgBytes + 1;
  EXPECT_EQ(device_->Launch(stream, launch).code(), StatusCode::kInvalidArgument);
  device_->DestroyStream(stream);
}

INSTANTIATE_TEST_SUITE_P(All, EveryDeviceTest, testing::Values("cpu", "sim"));

TEST(CpuDeviceTest, SaysWhatDoesNotFit) {
  const auto device = MakeCpuDevice();
  EXPECT_EQ(device->Allocate(UINT64_MAX, 64).status().code(), StatusCode::kResourceExhausted);
}

TEST(SimDeviceTest, WithoutAWaitTheOtherStreamSeesOldBytes) {
  for (const bool has_wait : {false, true}) {
    const auto device = SmallSim();
    auto* memory = static_cast<float*>(device->Allocate(sizeof(float), 64).value());
    Stream* copies = device->CreateStream().value();
    Stream* kernels = device->CreateStream().value();
    Event* copied = device->CreateEvent().value();
    const float in = 5;
    float out = -1;
    ASSERT_TRUE(
        device->CopyAsync(copies, memory, &in, sizeof(in), CopyDirection::kHostToDevice).ok());
    ASSERT_TRUE(device->RecordEvent(copied, copies).ok());
    if (has_wait) {
      ASSERT_TRUE(device->WaitEvent(kernels, copied).ok());
    }
    const AddArgs args = {memory, &out, 1, 0};
    ASSERT_TRUE(device->Launch(kernels, AddOf(&args)).ok());
    ASSERT_TRUE(device->SyncStream(kernels).ok());
    EXPECT_EQ(out, has_wait ? 5 : 0);
    device->DestroyEvent(copied);
    device->DestroyStream(copies);
    device->DestroyStream(kernels);
    device->Free(memory);
  }
}

TEST(SimDeviceTest, NothingRunsBeforeAWait) {
  const auto device = SmallSim();
  auto* memory = static_cast<float*>(device->Allocate(sizeof(float), 64).value());
  Stream* stream = device->CreateStream().value();
  float in = 1;
  float out = 0;
  ASSERT_TRUE(
      device->CopyAsync(stream, memory, &in, sizeof(in), CopyDirection::kHostToDevice).ok());
  in = 2;  // too early: the copy has not run
  const AddArgs args = {memory, &out, 1, 0};
  ASSERT_TRUE(device->Launch(stream, AddOf(&args)).ok());
  ASSERT_TRUE(device->SyncStream(stream).ok());
  EXPECT_EQ(out, 2);
  device->DestroyStream(stream);
  device->Free(memory);
}

TEST(SimDeviceTest, EventsOfTwoStreamsInterleave) {
  const auto device = SmallSim();
  auto* memory = static_cast<float*>(device->Allocate(sizeof(float), 64).value());
  Stream* copies = device->CreateStream().value();
  Stream* kernels = device->CreateStream().value();
  Event* copied = device->CreateEvent().value();
  Event* used = device->CreateEvent().value();
  std::array<float, 100> in = {};
  std::array<float, 100> out = {};
  for (size_t i = 0; i < in.size(); ++i) {  // one slot, used again and again
    in[i] = static_cast<float>(i);
    ASSERT_TRUE(device->WaitEvent(copies, used).ok());
    ASSERT_TRUE(
        device->CopyAsync(copies, memory, &in[i], sizeof(float), CopyDirection::kHostToDevice)
            .ok());
    ASSERT_TRUE(device->RecordEvent(copied, copies).ok());
    ASSERT_TRUE(device->WaitEvent(kernels, copied).ok());
    const AddArgs args = {memory, &out[i], 1, 0};
    ASSERT_TRUE(device->Launch(kernels, AddOf(&args)).ok());
    ASSERT_TRUE(device->RecordEvent(used, kernels).ok());
  }
  ASSERT_TRUE(device->SyncStream(kernels).ok());
  EXPECT_EQ(in, out);
  device->DestroyEvent(copied);
  device->DestroyEvent(used);
  device->DestroyStream(copies);
  device->DestroyStream(kernels);
  device->Free(memory);
}

TEST(SimDeviceTest, TheClockCountsBandwidthLatencyAndOverlap) {
  SimDeviceOptions options;
  options.arena_bytes = 64 << 20;
  options.launch_us = 0;
  const auto device = MakeSimDevice(options).value();
  std::vector<std::byte> host(25'000'000);  // 1000 us at 25 GB/s
  void* memory = device->Allocate(host.size(), 64).value();
  Stream* copies = device->CreateStream().value();
  Stream* kernels = device->CreateStream().value();
  ASSERT_TRUE(
      device->CopyAsync(copies, memory, host.data(), host.size(), CopyDirection::kHostToDevice)
          .ok());
  ASSERT_TRUE(
      device->CopyAsync(copies, memory, host.data(), host.size(), CopyDirection::kHostToDevice)
          .ok());
  KernelLaunch launch;
  launch.kernel = [](const DeviceMemory&, const void*) { return Status(); };
  launch.cost_us = 1500;
  ASSERT_TRUE(device->Launch(kernels, launch).ok());
  ASSERT_TRUE(device->SyncStream(kernels).ok());
  EXPECT_DOUBLE_EQ(device->now_us(), 1500);
  ASSERT_TRUE(device->SyncStream(copies).ok());
  EXPECT_DOUBLE_EQ(device->now_us(), 2020);  // beside the kernel, not behind it
  device->DestroyStream(copies);
  device->DestroyStream(kernels);
  device->Free(memory);
}

TEST(SimDeviceTest, OneLinkServesOneCopyAtATime) {
  SimDeviceOptions options;
  options.arena_bytes = 64 << 20;
  const auto device = MakeSimDevice(options).value();
  std::vector<std::byte> host(25'000'000);
  void* memory = device->Allocate(host.size(), 64).value();
  Stream* a = device->CreateStream().value();
  Stream* b = device->CreateStream().value();
  Event* end = device->CreateEvent().value();
  for (Stream* stream : {a, b}) {
    ASSERT_TRUE(
        device->CopyAsync(stream, memory, host.data(), host.size(), CopyDirection::kHostToDevice)
            .ok());
  }
  ASSERT_TRUE(device->RecordEvent(end, b).ok());
  EXPECT_EQ(device->EventTimeUs(end).status().code(), StatusCode::kUnavailable);
  ASSERT_TRUE(device->SyncStream(a).ok());
  ASSERT_TRUE(device->SyncStream(b).ok());
  EXPECT_DOUBLE_EQ(device->EventTimeUs(end).value(), 2020);
  device->DestroyEvent(end);
  device->DestroyStream(a);
  device->DestroyStream(b);
  device->Free(memory);
}

TEST(SimDeviceTest, AKernelsFailureComesAtTheSyncAndTheStreamGoesOn) {
  const auto device = SmallSim();
  Stream* stream = device->CreateStream().value();
  float out = 0;
  const float host = 3;
  const AddArgs bad = {&host, &out, 1, 0};  // host memory where device memory is wanted
  ASSERT_TRUE(device->Launch(stream, AddOf(&bad)).ok());
  EXPECT_EQ(device->SyncStream(stream).message(), "weights are not device memory");
  EXPECT_TRUE(device->SyncStream(stream).ok());
  device->DestroyStream(stream);
}

TEST(SimDeviceTest, CopiesBeyondAllocatedMemoryAreRefused) {
  const auto device = SmallSim();
  auto* memory = static_cast<std::byte*>(device->Allocate(64, 64).value());
  Stream* stream = device->CreateStream().value();
  std::array<std::byte, 128> host = {};
  const auto copy = [&](void* dst, const void* src, uint64_t bytes, CopyDirection direction) {
    return device->CopyAsync(stream, dst, src, bytes, direction).code();
  };
  EXPECT_EQ(copy(memory, host.data(), 65, CopyDirection::kHostToDevice),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(copy(memory + 64, host.data(), 1, CopyDirection::kHostToDevice),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(copy(memory, memory, 1, CopyDirection::kHostToDevice), StatusCode::kInvalidArgument);
  EXPECT_EQ(copy(host.data(), host.data() + 1, 1, CopyDirection::kDeviceToHost),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(copy(memory + 32, host.data(), 32, CopyDirection::kHostToDevice), StatusCode::kOk);
  device->DestroyStream(stream);
  device->Free(memory);
}

TEST(SimDeviceTest, AFullQueueIsRun) {
  SimDeviceOptions options;
  options.arena_bytes = 4096;
  options.max_queued = 4;
  const auto device = MakeSimDevice(options).value();
  void* memory = device->Allocate(64, 64).value();
  Stream* stream = device->CreateStream().value();
  const std::array<std::byte, 64> host = {};
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(
        device->CopyAsync(stream, memory, host.data(), 64, CopyDirection::kHostToDevice).ok());
  }
  ASSERT_TRUE(device->SyncStream(stream).ok());
  EXPECT_EQ(device->counters().bytes_to_device, 64'000U);
  device->DestroyStream(stream);
  device->Free(memory);
}

TEST(SimDeviceTest, MemoryIsReusedAndNeighboursJoin) {
  const auto device = SmallSim(8 * 4096);
  std::vector<void*> blocks;
  for (int i = 0; i < 8; ++i) {
    blocks.push_back(device->Allocate(4096, 4096).value());
  }
  const Status full = device->Allocate(1, 64).status();
  EXPECT_EQ(full.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(full.message().find("32 KiB"), std::string::npos) << full.message();
  for (const size_t i : {1U, 3U, 2U, 7U, 0U, 5U, 6U, 4U}) {
    device->Free(blocks[i]);
  }
  void* all = device->Allocate(8 * 4096, 64).value();
  device->Free(all);
  device->Free(nullptr);
}

TEST(SimDeviceDeathTest, TheHostCannotReadDeviceMemory) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto device = SmallSim();
  auto* memory = static_cast<volatile float*>(device->Allocate(sizeof(float), 64).value());
  EXPECT_DEATH(static_cast<void>(*memory), "");
}

TEST(SimDeviceTest, RefusesOptionsThatMakeNoSense) {
  SimDeviceOptions options;
  options.copy_gb_per_s = 0;
  EXPECT_EQ(MakeSimDevice(options).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace ft
