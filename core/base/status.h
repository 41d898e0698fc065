// Status and Result: how every fallible call in core and the plugins reports failure.
//
// A Status is an operating error the caller can act on (bad file, no memory, bad request). A broken
// invariant is not a Status: it is an FT_CHECK (core/base/check.h) and stops the process.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

#include "core/base/check.h"

namespace ft {

/// What the caller can do about a failure. ExitCode() maps them to the program's exit codes.
enum class StatusCode : int {
  kOk = 0,
  kInvalidArgument,     ///< a flag, value, request field or config is wrong              (exit 2)
  kDataLoss,            ///< a named file is broken: short, malformed, inconsistent       (exit 2)
  kNotFound,            ///< a named file, model, plugin, component or profile is absent  (exit 3)
  kUnimplemented,       ///< understood, and refused by name: ft does not do this (yet)   (exit 1)
  kFailedPrecondition,  ///< a declared requirement does not hold                         (exit 1)
  kResourceExhausted,   ///< does not fit: memory, pages, slots, queue                    (exit 1)
  kUnavailable,         ///< a device or service does not work now                        (exit 1)
  kDeadlineExceeded,    ///< took longer than its stated limit                            (exit 1)
  kCancelled,           ///< the caller or client asked to stop                           (exit 1)
  kPermissionDenied,    ///< trust: owner, mode, place or enablement of a file            (exit 4)
  kPluginFault,         ///< a plugin crashed, hung, ended early or broke its contract    (exit 5)
  kInternal,            ///< ft itself failed                                             (exit 6)
};

/// Exit code of the program for a failure of this kind (see docs/exit-codes in the README's links).
int ExitCode(StatusCode code);

/// The code's name in snake case, e.g. "invalid_argument". Static lifetime.
const char* StatusCodeName(StatusCode code);

/// Outcome of an operation that returns no value.
class [[nodiscard]] Status {
 public:
  /// Success.
  Status() = default;

  /// Failure. `code` must not be kOk. `message` names the thing that failed, the value seen and
  /// what to do about it.
  Status(StatusCode code, std::string_view message) : code_(code), message_(message) {
    FT_CHECK(code != StatusCode::kOk);
  }

  bool ok() const { return code_ == StatusCode::kOk; }

  StatusCode code() const { return code_; }

  const std::string& message() const { return message_; }

  /// The same failure with `context` and ": " in front of the message. Requires !ok().
  Status WithContext(std::string_view context) const {
    return Status(code_, std::string(context) + ": " + message_);
  }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

/// A `T`, or the Status that says why there is none. Never holds an ok Status.
template <typename T>
class [[nodiscard]] Result : public tl::expected<T, Status> {
  using Base = tl::expected<T, Status>;

 public:
  Result(T value) : Base(std::move(value)) {}  // NOLINT(google-explicit-constructor)

  Result(Status status)  // NOLINT(google-explicit-constructor)
      : Base(tl::unexpect, std::move(status)) {
    FT_CHECK(!Base::error().ok());
  }

  bool ok() const { return Base::has_value(); }

  /// Requires !ok().
  const Status& status() const {
    FT_CHECK(!ok());
    return Base::error();
  }

  /// Requires ok().
  const T& value() const& {
    FT_CHECK(ok());
    return **this;
  }

  T& value() & {
    FT_CHECK(ok());
    return **this;
  }

  T&& value() && {
    FT_CHECK(ok());
    return std::move(**this);
  }
};

}  // namespace ft

// Names a temporary that does not clash when the macro is used twice in one scope.
#define FT_CONCAT_INNER(a, b) a##b
#define FT_CONCAT(a, b) FT_CONCAT_INNER(a, b)

/// Returns the Status of `expr` from the calling function if it is a failure.
#define FT_RETURN_IF_ERROR(expr)        \
  do {                                  \
    ::ft::Status ft_status = (expr);    \
    if (!ft_status.ok()) [[unlikely]] { \
      return ft_status;                 \
    }                                   \
  } while (false)

// NOLINTBEGIN(bugprone-macro-parentheses): `lhs` may be a declaration
/// `FT_ASSIGN_OR_RETURN(auto x, F())`: the value of a Result, or return its Status.
#define FT_ASSIGN_OR_RETURN(lhs, expr) \
  FT_ASSIGN_OR_RETURN_INNER(FT_CONCAT(ft_result_, __LINE__), lhs, expr)
#define FT_ASSIGN_OR_RETURN_INNER(tmp, lhs, expr) \
  auto tmp = (expr);                              \
  if (!tmp.ok()) [[unlikely]] {                   \
    return tmp.status();                          \
  }                                               \
  lhs = std::move(tmp).value()
// NOLINTEND(bugprone-macro-parentheses)
