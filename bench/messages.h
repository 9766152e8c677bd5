/* Cuts a JSON array into the texts of its elements, byte for byte: for C and for C++, so that both
 * sides of the benchmark store the same bodies. Trusts its input, which gen_workload.py wrote. */
#pragma once

#include <stddef.h>

typedef struct {
  const char* text;
  size_t bytes;
} element_t;

/* Returns how many elements there are, of which the first `max` are in `out`. */
static inline size_t split_array(const char* text, size_t bytes, element_t* out, size_t max) {
  size_t count = 0, start = 1, depth = 0;
  int quoted = 0;
  for (size_t i = 0; i < bytes; i++) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') i++;
      if (c == '"') quoted = 0;
      continue;
    }
    if (c == '"') quoted = 1;
    if (c == '[' || c == '{') depth++;
    if ((c == ',' && depth == 1) || (c == ']' && depth == 1)) {
      while (text[start] == ' ') start++;
      if (count < max) {
        out[count].text = text + start;
        out[count].bytes = i - start;
      }
      count++;
      start = i + 1;
    }
    if (c == ']' || c == '}') depth--;
  }
  return count;
}
