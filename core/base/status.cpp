#include "core/base/status.h"

namespace ft {

int ExitCode(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return 0;
    case StatusCode::kInvalidArgument:
    case StatusCode::kDataLoss:
      return 2;
    case StatusCode::kNotFound:
      return 3;
    case StatusCode::kUnimplemented:
    case StatusCode::kFailedPrecondition:
    case StatusCode::kResourceExhausted:
    case StatusCode::kUnavailable:
    case StatusCode::kDeadlineExceeded:
    case StatusCode::kCancelled:
      return 1;
    case StatusCode::kPermissionDenied:
      return 4;
    case StatusCode::kPluginFault:
      return 5;
    case StatusCode::kInternal:
      return 6;
  }
  return 6;
}

const char* StatusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "ok";
    case StatusCode::kInvalidArgument:
      return "invalid_argument";
    case StatusCode::kDataLoss:
      return "data_loss";
    case StatusCode::kNotFound:
      return "not_found";
    case StatusCode::kUnimplemented:
      return "unimplemented";
    case StatusCode::kFailedPrecondition:
      return "failed_precondition";
    case StatusCode::kResourceExhausted:
      return "resource_exhausted";
    case StatusCode::kUnavailable:
      return "unavailable";
    case StatusCode::kDeadlineExceeded:
      return "deadline_exceeded";
    case StatusCode::kCancelled:
      return "cancelled";
    case StatusCode::kPermissionDenied:
      return "permission_denied";
    case StatusCode::kPluginFault:
      return "plugin_fault";
    case StatusCode::kInternal:
      return "internal";
  }
  return "internal";
}

}  // namespace ft
