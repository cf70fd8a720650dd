// Nothing of a key stays on the stack of whoever calls: each call runs on a thread whose stack is searched when the call is over.
#define _GNU_SOURCE
#include <blake3.h>
#include <hashmill.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { STACK = 1 << 20, INPUT = 70000 };
static const uint8_t key[32] = "\x91whats the Elv\xe9sh word for fr\xcf" "en";
static uint8_t *stack, *left, *input;
// Memory of the caller's, in which a key may be: none of it is on a stack.
static blake3_hasher keyed, derived;
static hm_hasher *hasher;
static uint8_t out[INPUT];
static size_t len;

static void leaves_it(void) {
  volatile uint8_t copy[32];
  for (int n = 0; n < 32; n++) copy[n] = key[n];
  (void)copy;
}
static void keyed_init(void) { blake3_hasher_init_keyed(&keyed, key); }
static void keyed_update(void) { blake3_hasher_update(&keyed, input, len); }
static void keyed_finalize(void) { blake3_hasher_finalize(&keyed, out, 32); }
static void keyed_seek(void) { blake3_hasher_finalize_seek(&keyed, 1000, out, 200); }
static void keyed_reset(void) { blake3_hasher_reset(&keyed); }
// What is derived from is the secret then: it is the input.
static void derived_init(void) { blake3_hasher_init_derive_key(&derived, "a purpose"); }
static void derived_update(void) { blake3_hasher_update(&derived, key, sizeof key); }
static void derived_finalize(void) { blake3_hasher_finalize(&derived, out, 32); }
static void fine(hm_error *error) { if (error) puts(hm_error_text(error)), exit(1); }
static hm_function function(void) { return hm_blake3_keyed(hm_span_of(key, sizeof key)); }
static void one(void) { fine(hm_hash(function(), hm_span_of(input, len), NULL, hm_room_of(out, 32))); }
static void longer(void) { fine(hm_hash(function(), hm_span_of(input, len), NULL, hm_room_of(out, 200))); }
static void many(void) {
  hm_span inputs[] = {hm_span_of(input, len), hm_span_of(input, len / 2), hm_span_of(input, len / 3)};
  fine(hm_hash_many(function(), hm_spans_of(inputs, 3), NULL, hm_room_of(out, 96)));
}
static void create(void) { fine(hm_hasher_create(function(), &hasher)); }
static void update(void) { fine(hm_hasher_update(hasher, hm_span_of(input, len), NULL)); }
static void finalize(void) { fine(hm_hasher_finalize(hasher, 7, hm_room_of(out, 200))); }
static void reset(void) { fine(hm_hasher_reset(hasher)); }
static void clone_it(void) {
  hm_hasher *copy;
  fine(hm_hasher_clone(hasher, &copy));
  hm_hasher_free(copy);
}
static void gone(void) { hm_hasher_free(hasher), hasher = NULL; }

static void *run(void *call) {
  (*(void (**)(void))call)();
  // The end of a thread needs stack itself.
  memcpy(left, stack, STACK);
  return NULL;
}

// How often two words of the key, or one of them in four lanes side by side, are on the stack after a call.
static int traces(void (*call)(void)) {
  pthread_attr_t attributes;
  pthread_t thread;
  memset(stack, 0, STACK);
  if (pthread_attr_init(&attributes) || pthread_attr_setstack(&attributes, stack, STACK)) abort();
  if (pthread_create(&thread, &attributes, run, &call) || pthread_join(thread, NULL)) abort();
  int found = 0;
  for (size_t at = 0; at + 16 <= STACK; at += 4) {
    for (int word = 0; word < 8; word++) {
      const uint8_t *of = key + 4 * word;
      bool pair = word < 7 && memcmp(left + at, of, 8) == 0, lanes = true;
      for (int lane = 0; lane < 4; lane++) lanes = lanes && memcmp(left + at + 4 * lane, of, 4) == 0;
      found += pair || lanes;
    }
  }
  return found;
}

int main(void) {
  struct { const char *name; void (*call)(void); } calls[] = {
    {"blake3_hasher_init_keyed", keyed_init}, {"blake3_hasher_update", keyed_update}, {"blake3_hasher_finalize", keyed_finalize},
    {"blake3_hasher_finalize_seek", keyed_seek}, {"blake3_hasher_reset", keyed_reset},
    {"blake3_hasher_init_derive_key", derived_init}, {"update of what is derived", derived_update}, {"finalize of it", derived_finalize},
    {"hm_hash", one}, {"hm_hash of more", longer}, {"hm_hash_many", many}, {"hm_hasher_create", create}, {"hm_hasher_update", update},
    {"hm_hasher_finalize", finalize}, {"hm_hasher_clone", clone_it}, {"hm_hasher_reset", reset}, {"hm_hasher_free", gone},
  };
  const size_t lens[] = {0, 1, 64, 100, 1024, 1025, 5000, 16 << 10, INPUT};
  int wrong = 0;
  stack = aligned_alloc(1 << 16, STACK), left = malloc(STACK), input = calloc(1, INPUT);
  if (!stack || !left || !input) return 2;
  if (traces(leaves_it) == 0) return puts("what is looked for cannot be found"), 2;
  for (size_t n = 0; n < sizeof lens / sizeof *lens; n++) {
    len = lens[n];
    for (size_t at = 0; at < sizeof calls / sizeof *calls; at++) {
      int found = traces(calls[at].call);
      // What is set up at the first call is no part of it.
      if (found && n > 0) printf("%s, %zu bytes: %d\n", calls[at].name, len, found), wrong++;
    }
  }
  free(stack), free(left), free(input);
  if (!wrong) puts("done");
  return wrong != 0;
}
