/* A second manifest in one file. */
#include "ft/plugin/manifest.h"
FT_PLUGIN_MANIFEST("{}");
