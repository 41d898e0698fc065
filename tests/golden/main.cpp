// The main of the golden tests.
#include <cstring>

#include <gtest/gtest.h>

#include "core/plugin_host/plugin_host.h"

// The plugin host probes plugins in a child that is this program.
int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], ft::kPluginProbeCommand) == 0) {
    return ft::RunPluginProbe(argc, argv);
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
