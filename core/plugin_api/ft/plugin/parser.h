/* Kinds "reasoning_parser" and "tool_parser" 0.1, one table: splits what a model says into
 * thoughts, content and tool calls while it streams. Same events however the pieces are cut; no
 * fragment of a marker reaches content; memory is bounded by the text of one call.
 *
 * The host chains them: pieces -> reasoning parser -> its CONTENT pieces -> tool parser. */
#ifndef FT_PLUGIN_PARSER_H
#define FT_PLUGIN_PARSER_H
/* NOLINTBEGIN(modernize-*,readability-*,cppcoreguidelines-*,google-*,bugprone-*): plain C by
 * contract */
#include "ft/plugin/abi.h"
FT_C_BEGIN
#define FT_PARSER_MAJOR 0u
#define FT_PARSER_MINOR 1u
#define FT_KIND_REASONING_PARSER "reasoning_parser"
#define FT_KIND_TOOL_PARSER "tool_parser"

#define FT_EV_CONTENT 1
#define FT_EV_REASONING 2
#define FT_EV_TOOL_BEGIN 3 /* text = function name, complete                                   */
#define FT_EV_TOOL_ARGS 4  /* text = next piece of the JSON arguments                          */
#define FT_EV_TOOL_END 5   /* only after a whole call                                          */
#define FT_EV_WARNING 6

typedef struct ft_event_rec { /* frozen: no header */
  int32_t type;
  uint32_t tool_index; /* 0-based, of TOOL_* events                                   */
  ft_str text;
  int32_t token_id; /* CONTENT that is one whole piece as it came: its token, so that the next
                       parser still knows it; -1 otherwise                         */
  uint32_t is_marker_token; /* the same: the piece's flag                                  */
} ft_event_rec;

typedef ft_code (*ft_event_sink)(void* ctx,
                                 const ft_event_rec*); /* non-zero: stop, return FT_E_CANCELLED */

typedef struct ft_piece {  /* frozen: no header. What one token added to the text         */
  ft_str text;             /* UTF-8, whole characters; may be empty                       */
  int32_t token_id;        /* -1: text without a token                                    */
  uint32_t is_added_token; /* 1: one of the tokenizer's added tokens, text is its content */
} ft_piece;

#define FT_MARKER_THINK_OPEN 1u
#define FT_MARKER_THINK_CLOSE 2u
#define FT_MARKER_CALL_OPEN 3u
#define FT_MARKER_CALL_CLOSE 4u

typedef struct ft_marker { /* frozen: no header */
  ft_str text;
  uint32_t role, reserved0;
} ft_marker;

typedef struct ft_parser_options {
  ft_hdr hdr;
  uint32_t starts_in_reasoning; /* the rendered prompt ends inside a thought                   */
  uint32_t n_markers;
  const int32_t*
      marker_token_ids; /* [n_markers] in the order of markers(): the added token whose content is
                           the marker, or -1. Where there is one, only that token is the marker:
                           the same letters in ordinary text are text                */
  ft_str tools_json;    /* the request's `tools` array as JSON, or empty               */
} ft_parser_options;

typedef struct ft_parser {
  ft_hdr hdr;
  /* Does this format fit the model? 0 no; higher is surer. Judged by template text and tokens that
   * exist. */
  ft_code (*matches)(void* state, ft_str chat_template, int32_t* score, ft_error*) FT_NOEXCEPT;
  /* Marker `index`; FT_E_NOT_FOUND behind the last. Static strings. */
  ft_code (*marker)(void* state, uint32_t index, ft_marker* out, ft_error*) FT_NOEXCEPT;
  /* Does this rendered prompt end inside a thought? (reasoning parsers; tool parsers say 0) */
  ft_code (*prompt_state)(void* state, ft_str prompt, uint32_t* in_reasoning, ft_error*)
      FT_NOEXCEPT;
  ft_code (*create)(void* state, const ft_parser_options*, void** inst, ft_error*) FT_NOEXCEPT;
  ft_code (*feed)(void* inst, const ft_piece*, ft_event_sink, void* ctx, ft_error*) FT_NOEXCEPT;
  ft_code (*finish)(void* inst, ft_event_sink, void* ctx, ft_error*) FT_NOEXCEPT; /* idempotent */
  ft_code (*reset)(void* inst, ft_error*) FT_NOEXCEPT;
  void (*destroy)(void* inst) FT_NOEXCEPT;
} ft_parser;

#define FT_TAG_PARSER 0x50415231u
#define FT_TAG_PARSER_OPTIONS 0x5041524fu
FT_C_END
/* NOLINTEND(modernize-*,readability-*,cppcoreguidelines-*,google-*,bugprone-*) */
#endif
