// Status across the plugin boundary, both ways.
#pragma once

#include <string>
#include <string_view>

#include "ft/plugin/abi.h"

#include "core/base/status.h"

namespace ft {

/// An error that a callee may fill.
ft_error EmptyAbiError();

/// What a plugin wrote, for people: control characters and what is behind the end removed, the
/// remedy in brackets. Never empty.
std::string TextOfAbi(const ft_error& error);

/// Ok for FT_OK; else TextOfAbi with `who` in front.
Status StatusOfAbi(ft_code code, const ft_error& error, std::string_view who);

/// The code for `status`; fills `error`, which may be null. A message that is too long is cut at a
/// character.
ft_code FillAbiError(const Status& status, ft_error* error);

}  // namespace ft
