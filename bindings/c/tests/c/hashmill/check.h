// Checks for all test programs: a call must succeed, or fail with a given error.
#pragma once
#include <hashmill.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition) \
  do { if (!(condition)) { fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); exit(1); } } while (0)

#define OK(call) must(call, HM_OK, #call, __FILE__, __LINE__)
#define FAILS(code, call) must(call, code, #call, __FILE__, __LINE__)

static inline void must(hm_error *error, hm_code code, const char *call, const char *file, int line) {
  if (hm_error_code(error) != code) {
    fprintf(stderr, "%s:%d: %s: code %u instead of %u: %s\n", file, line, call, hm_error_code(error), code, hm_error_text(error));
    exit(1);
  }
  hm_error_free(error);
}

static inline hm_span nothing(void) { return hm_span_of(NULL, 0); }
// A length without memory.
static inline hm_span lie(void) { return hm_span_of(NULL, 5); }
