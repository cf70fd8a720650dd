// wiped FILE: no part of a secret stays on the caller's stack. Each call runs on a thread whose stack is searched after the call.
// The secret is a key, key material, a password, or the secret for passwords; FILE is created and hashed.
#define _GNU_SOURCE
#include <argon2.h>
#include <blake3.h>
#include <hashmill.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

// The longest file is hashed on several threads.
enum { STACK = 1 << 18, INPUT = 5 << 20 };
static const uint8_t key[32] = "\x91whats the Elv\xe9sh word for fr\xcf" "en";
static uint8_t *stack, *left, *input;
// Memory of the caller, which may contain a key: none of it is on a stack.
static blake3_hasher keyed, derived;
static hm_hasher *hasher;
static hm_files *files;
static hm_passwords *passwords;
static hm_bytes *stored, *again;
static hm_stop *stop;
static char encoded[200], salt[] = "sixteen bytes ok", *path;
static uint8_t out[200], secret[32];
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
static void keyed_tbb(void) { blake3_hasher_update_tbb(&keyed, input, len); }
static void keyed_reset(void) { blake3_hasher_reset(&keyed); }
static void derived_init(void) { blake3_hasher_init_derive_key(&derived, "a purpose"); }
static void derived_update(void) { blake3_hasher_update(&derived, key, sizeof key); }
static void derived_finalize(void) { blake3_hasher_finalize(&derived, out, 32); }
static void derived_reset(void) { blake3_hasher_reset(&derived); }
static void fine(hm_error *error) { if (error) puts(hm_error_text(error)), exit(1); }
static hm_span the_key(void) { return hm_span_of(key, sizeof key); }
static hm_function function(void) { return hm_blake3_keyed(the_key()); }
static void one(void) { fine(hm_hash(function(), hm_span_of(input, len), NULL, hm_room_of(out, 32))); }
static void longer(void) { fine(hm_hash(function(), hm_span_of(input, len), NULL, hm_room_of(out, 200))); }
static void derive(void) { fine(hm_hash(hm_blake3_derive(hm_str("a purpose")), the_key(), NULL, hm_room_of(out, 32))); }
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
static void files_create(void) { fine(hm_files_create(function(), NULL, &files)); }
static void files_hash(void) {
  hm_file_digest digest;
  fine(hm_files_hash(files, hm_str(path), &digest));
}
static void files_many(void) {
  hm_span paths[] = {hm_str(path), hm_str(path)};
  hm_file_digests *digests;
  fine(hm_files_hash_many(files, hm_spans_of(paths, 2), &digests));
  hm_file_digests_free(digests);
}
static void files_free(void) { hm_files_free(files); }
static void right(int code) { if (code) puts(argon2_error_message(code)), exit(1); }
static void raw(void) { right(argon2id_hash_raw(1, 8, 1, key, sizeof key, salt, 16, out, 32)); }
static void encode(void) { right(argon2id_hash_encoded(1, 8, 1, key, sizeof key, salt, 16, 32, encoded, sizeof encoded)); }
static void verify(void) { right(argon2id_verify(encoded, key, sizeof key)); }
static void with_secret(void) {
  static argon2_context context;
  context = (argon2_context){.out = out, .outlen = 32, .pwd = input, .pwdlen = 9, .salt = (uint8_t *)salt, .saltlen = 16, .t_cost = 1,
                             .m_cost = 8, .lanes = 1, .threads = 1, .version = 0x13, .flags = ARGON2_FLAG_CLEAR_SECRET};
  memcpy(secret, key, sizeof secret);
  context.secret = secret, context.secretlen = sizeof secret;
  right(argon2id_ctx(&context));
}
static void passwords_create(void) {
  static const hm_policy policy = {2, 8, 1, 1, 16, 32};
  static hm_password_options options;
  options.secret = the_key();
  fine(hm_passwords_create(&policy, &options, NULL, &passwords));
}
static void passwords_hash(void) { fine(hm_passwords_hash(passwords, the_key(), hm_str(salt), &stored)); }
static void passwords_hash_until(void) {
  fine(hm_stop_create(&stop));
  fine(hm_passwords_hash_until(passwords, the_key(), hm_str(salt), stop, &again));
}
static void passwords_verify_until(void) { fine(hm_passwords_verify_until(passwords, the_key(), hm_view(again), stop, NULL)); }
static void passwords_dummy(void) {
  hm_error *error = hm_passwords_verify_dummy(passwords, the_key());
  if (hm_error_code(error) != HM_MISMATCH) fine(error), exit(1);
  hm_error_free(error);
}
static void passwords_verify(void) { fine(hm_passwords_verify(passwords, the_key(), hm_view(stored), NULL)); }
static void passwords_many(void) {
  hm_span word = the_key(), string = hm_view(stored);
  hm_verdicts *verdicts;
  fine(hm_passwords_verify_many(passwords, hm_spans_of(&word, 1), hm_spans_of(&string, 1), &verdicts));
  hm_verdicts_free(verdicts);
}
static void passwords_free(void) { hm_passwords_free(passwords), hm_bytes_free(stored), hm_bytes_free(again), hm_stop_free(stop); }

static void *run(void *call) {
  (*(void (**)(void))call)();
  // Ending a thread uses stack itself.
  memcpy(left, stack, STACK);
  return NULL;
}

// The number of places on the stack, after a call, with two words of the key, or with one of them in four adjacent lanes.
static int traces(void (*call)(void)) {
  pthread_attr_t attributes;
  pthread_t thread;
  memset(stack, 0, STACK);
  if (pthread_attr_init(&attributes) || pthread_attr_setstack(&attributes, stack, STACK)) abort();
  if (pthread_create(&thread, &attributes, run, &call) || pthread_join(thread, NULL)) abort();
  int found = 0;
  for (size_t at = 0; at + 16 <= STACK; at += 4) {
    uint32_t here;
    memcpy(&here, left + at, sizeof here);
    // Most of a stack was never used, and no word of the key is zero.
    for (int word = 0; here && word < 8; word++) {
      const uint8_t *of = key + 4 * word;
      bool pair = word < 7 && memcmp(left + at, of, 8) == 0, lanes = true;
      for (int lane = 0; lane < 4; lane++) lanes = lanes && memcmp(left + at + 4 * lane, of, 4) == 0;
      found += pair || lanes;
    }
  }
  return found;
}

static void write_file(void) {
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(input, 1, len, file) != len || fclose(file)) perror(path), exit(2);
}

int main(int count, char **arguments) {
  struct { const char *name; void (*call)(void); } calls[] = {
    {"blake3_hasher_init_keyed", keyed_init}, {"blake3_hasher_update", keyed_update}, {"blake3_hasher_finalize", keyed_finalize},
    {"blake3_hasher_finalize_seek", keyed_seek}, {"blake3_hasher_update_tbb", keyed_tbb}, {"blake3_hasher_reset", keyed_reset},
    {"blake3_hasher_init_derive_key", derived_init}, {"update of what is derived", derived_update},
    {"finalize of it", derived_finalize}, {"reset of it", derived_reset},
    {"hm_hash", one}, {"hm_hash of more", longer}, {"hm_hash to derive", derive}, {"hm_hash_many", many},
    {"hm_hasher_create", create}, {"hm_hasher_update", update}, {"hm_hasher_finalize", finalize}, {"hm_hasher_clone", clone_it},
    {"hm_hasher_reset", reset}, {"hm_hasher_free", gone},
    {"hm_files_create", files_create}, {"hm_files_hash", files_hash}, {"hm_files_hash_many", files_many}, {"hm_files_free", files_free},
    {"argon2id_hash_raw", raw}, {"argon2id_hash_encoded", encode}, {"argon2id_verify", verify}, {"argon2id_ctx", with_secret},
    {"hm_passwords_create", passwords_create}, {"hm_passwords_hash", passwords_hash}, {"hm_passwords_verify", passwords_verify},
    {"hm_passwords_hash_until", passwords_hash_until}, {"hm_passwords_verify_until", passwords_verify_until},
    {"hm_passwords_verify_dummy", passwords_dummy}, {"hm_passwords_verify_many", passwords_many}, {"hm_passwords_free", passwords_free},
  };
  const size_t lens[] = {0, 1, 64, 100, 1024, 1025, 5000, 16 << 10, 70000, INPUT};
  int wrong = 0;
  if (count != 2) return 2;
  path = arguments[1];
  stack = aligned_alloc(1 << 16, STACK), left = malloc(STACK), input = calloc(1, INPUT);
  if (!stack || !left || !input) return 2;
  if (traces(leaves_it) == 0) return puts("what is looked for cannot be found"), 2;
  for (size_t n = 0; n < sizeof lens / sizeof *lens; n++) {
    len = lens[n], write_file();
    for (size_t at = 0; at < sizeof calls / sizeof *calls; at++) {
      int found = traces(calls[at].call);
      // Set-up at the first call is not counted.
      if (found && n > 0) printf("%s, %zu bytes: %d\n", calls[at].name, len, found), wrong++;
    }
  }
  free(stack), free(left), free(input);
  if (!wrong) puts("done");
  return wrong != 0;
}
