#include "core/quant/abi_status.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "core/base/errors.h"

namespace ft {
namespace {

StatusCode CodeOfAbi(ft_code code) {
  switch (code) {
    case FT_E_INVALID_ARG:
      return StatusCode::kInvalidArgument;
    case FT_E_UNSUPPORTED:
      return StatusCode::kUnimplemented;
    case FT_E_NOT_FOUND:
      return StatusCode::kNotFound;
    case FT_E_FAILED_PRECOND:
      return StatusCode::kFailedPrecondition;
    case FT_E_NO_MEMORY:
      return StatusCode::kResourceExhausted;
    case FT_E_BUSY:
    case FT_E_DEVICE:
      return StatusCode::kUnavailable;
    case FT_E_TIMEOUT:
      return StatusCode::kDeadlineExceeded;
    case FT_E_CANCELLED:
      return StatusCode::kCancelled;
    case FT_E_DATA:
      return StatusCode::kDataLoss;
    case FT_E_INTERNAL:
      return StatusCode::kInternal;
    default:
      return StatusCode::kPluginFault;
  }
}

ft_code AbiOfCode(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return FT_OK;
    case StatusCode::kInvalidArgument:
      return FT_E_INVALID_ARG;
    case StatusCode::kDataLoss:
      return FT_E_DATA;
    case StatusCode::kNotFound:
      return FT_E_NOT_FOUND;
    case StatusCode::kUnimplemented:
      return FT_E_UNSUPPORTED;
    case StatusCode::kFailedPrecondition:
    case StatusCode::kPermissionDenied:
      return FT_E_FAILED_PRECOND;
    case StatusCode::kResourceExhausted:
      return FT_E_NO_MEMORY;
    case StatusCode::kUnavailable:
      return FT_E_BUSY;
    case StatusCode::kDeadlineExceeded:
      return FT_E_TIMEOUT;
    case StatusCode::kCancelled:
      return FT_E_CANCELLED;
    case StatusCode::kPluginFault:
    case StatusCode::kInternal:
      return FT_E_INTERNAL;
  }
  return FT_E_INTERNAL;
}

std::string CleanText(const char* text, size_t size) {
  std::string clean(text, strnlen(text, size));
  for (char& c : clean) {
    c = static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
  }
  return clean;
}

}  // namespace

ft_error EmptyAbiError() {
  ft_error error = {};
  error.hdr = {sizeof(ft_error), FT_TAG_ERROR, nullptr};
  return error;
}

std::string TextOfAbi(const ft_error& error) {
  std::string message = CleanText(error.message, sizeof(error.message));
  if (message.empty()) {
    message = "failed without a message";
  }
  const std::string remedy = CleanText(error.remedy, sizeof(error.remedy));
  return remedy.empty() ? message : message + " (" + remedy + ")";
}

Status StatusOfAbi(ft_code code, const ft_error& error, std::string_view who) {
  if (code == FT_OK) {
    return Status();
  }
  return Status(CodeOfAbi(code), fmt::format("{}: {}", who, TextOfAbi(error)));
}

ft_code FillAbiError(const Status& status, ft_error* error) {
  const ft_code code = AbiOfCode(status.code());
  if (error == nullptr || code == FT_OK) {
    return code;
  }
  error->code = code;
  error->native = 0;
  error->remedy[0] = '\0';
  size_t length = std::min(status.message().size(), sizeof(error->message) - 1);
  const auto is_inside_character = [&](size_t at) {
    return at < status.message().size() &&
           (static_cast<unsigned char>(status.message()[at]) & 0xC0U) == 0x80U;
  };
  while (length > 0 && is_inside_character(length)) {
    --length;
  }
  std::memcpy(error->message, status.message().data(), length);
  error->message[length] = '\0';
  return code;
}

}  // namespace ft
