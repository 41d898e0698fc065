#include "core/quant/abi_status.h"

#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "core/base/errors.h"

namespace ft {
namespace {

TEST(AbiStatusTest, EveryCodeComesBackAsItself) {
  for (const StatusCode code :
       {StatusCode::kInvalidArgument, StatusCode::kDataLoss, StatusCode::kNotFound,
        StatusCode::kUnimplemented, StatusCode::kFailedPrecondition, StatusCode::kResourceExhausted,
        StatusCode::kUnavailable, StatusCode::kDeadlineExceeded, StatusCode::kCancelled,
        StatusCode::kInternal}) {
    ft_error error = EmptyAbiError();
    const ft_code abi = FillAbiError(Status(code, "what went wrong"), &error);
    const Status back = StatusOfAbi(abi, error, "who");
    EXPECT_EQ(back.code(), code);
    EXPECT_EQ(back.message(), "who: what went wrong");
  }
  EXPECT_EQ(FillAbiError(Status(), nullptr), FT_OK);
  EXPECT_TRUE(StatusOfAbi(FT_OK, EmptyAbiError(), "who").ok());
}

TEST(AbiStatusTest, ALongMessageIsCutAtACharacter) {
  ft_error error = EmptyAbiError();
  std::string text(510, 'a');
  text += "äöü";
  FillAbiError(InvalidArgument("{}", text), &error);
  EXPECT_EQ(std::string(error.message), std::string(510, 'a'));
}

TEST(AbiStatusTest, APluginsTextIsNotTrusted) {
  ft_error error = EmptyAbiError();
  EXPECT_EQ(TextOfAbi(error), "failed without a message");
  std::memset(error.message, 'x', sizeof(error.message));  // no end
  EXPECT_EQ(TextOfAbi(error).size(), sizeof(error.message));
  std::strcpy(error.message, "two\nlines\x1b");
  std::strcpy(error.remedy, "do this");
  EXPECT_EQ(TextOfAbi(error), "two lines  (do this)");
  EXPECT_EQ(StatusOfAbi(999, error, "p").code(), StatusCode::kPluginFault);
}

}  // namespace
}  // namespace ft
