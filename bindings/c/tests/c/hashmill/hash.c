// BLAKE3 of memory and of files: answers, wrong arguments, threads, destruction in another order than creation.
#include "check.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint8_t ABC[32] = {0x64, 0x37, 0xb3, 0xac, 0x38, 0x46, 0x51, 0x33, 0xff, 0xb6, 0x3b, 0x75, 0x27, 0x3a, 0x8d, 0xb5,
                                0x48, 0xc5, 0x58, 0x46, 0x5d, 0x79, 0xdb, 0x03, 0xfd, 0x35, 0x9c, 0x6c, 0xd5, 0xbd, 0x9d, 0x85};
enum { LARGE = 3 << 20, MANY = 3000, THREADS = 8 };
static uint8_t *large;

static int same(const void *a, const void *b, size_t len) { return memcmp(a, b, len) == 0; }

static void answers(hm_pool *pool) {
  uint8_t one[32], other[32], longer[100];
  OK(hm_hash(hm_blake3(), hm_str("abc"), NULL, hm_room_of(one, 32)));
  CHECK(same(one, ABC, 32));
  OK(hm_hash(hm_blake3(), hm_str("abc"), pool, hm_room_of(longer, 100)));
  CHECK(same(longer, ABC, 32));
  OK(hm_hash(hm_blake3(), nothing(), pool, hm_room_of(NULL, 0)));
  OK(hm_hash(hm_blake3(), hm_span_of(one, 32), NULL, hm_room_of(other, 32)));
  OK(hm_hash(hm_blake3(), hm_span_of(one, 32), pool, hm_room_of(one, 32)));
  CHECK(same(one, other, 32));
  const char key[] = "0123456789abcdef0123456789abcdef";
  hm_function functions[] = {hm_blake3(), hm_blake3_keyed(hm_str(key)), hm_blake3_derive(hm_str("a purpose"))};
  for (int n = 0; n < 3; n++) {
    hm_hasher *hasher, *copy;
    OK(hm_hasher_create(functions[n], &hasher));
    OK(hm_hasher_update(hasher, hm_span_of(large, 1000), NULL));
    OK(hm_hasher_clone(hasher, &copy));
    OK(hm_hasher_update(hasher, hm_span_of(large, 5), NULL));
    hm_hasher_free(hasher);
    OK(hm_hasher_update(copy, hm_span_of(large + 1000, LARGE - 1000), pool));
    OK(hm_hasher_finalize(copy, 0, hm_room_of(one, 32)));
    for (int alone = 0; alone < 2; alone++) {
      OK(hm_hash(functions[n], hm_span_of(large, LARGE), alone ? NULL : pool, hm_room_of(other, 32)));
      CHECK(same(one, other, 32));
      OK(hm_hash(functions[n], hm_span_of(large, LARGE), alone ? NULL : pool, hm_room_of(longer, 100)));
      CHECK(same(one, longer, 32));
    }
    OK(hm_hasher_finalize(copy, 68, hm_room_of(other, 32)));
    CHECK(same(longer + 68, other, 32));
    OK(hm_hasher_reset(copy));
    OK(hm_hasher_update(copy, hm_str("abc"), NULL));
    OK(hm_hasher_finalize(copy, 0, hm_room_of(one, 32)));
    OK(hm_hash(functions[n], hm_str("abc"), NULL, hm_room_of(other, 32)));
    CHECK(same(one, other, 32));
    hm_hasher_free(copy);
    // Many lengths, some of them large.
    static hm_span spans[MANY];
    static uint8_t digests[MANY * 32];
    for (int i = 0; i < MANY; i++) spans[i] = hm_span_of(large + i, i % 500 == 7 ? LARGE - MANY : (size_t)i);
    OK(hm_hash_many(functions[n], hm_spans_of(spans, MANY), pool, hm_room_of(digests, sizeof digests)));
    for (int i = 0; i < MANY; i += 5) {
      OK(hm_hash(functions[n], spans[i], NULL, hm_room_of(one, 32)));
      CHECK(same(one, digests + 32 * i, 32));
    }
  }
}

static void wrong_arguments(void) {
  uint8_t out[64];
  hm_hasher *hasher = (hm_hasher *)out;
  hm_room room = hm_room_of(out, 32);
  FAILS(HM_ARGUMENT, hm_hash(hm_blake3(), lie(), NULL, room));
  FAILS(HM_ARGUMENT, hm_hash(hm_blake3(), hm_span_of(out, SIZE_MAX), NULL, room));
  FAILS(HM_ARGUMENT, hm_hash(hm_blake3(), hm_str("abc"), NULL, hm_room_of(NULL, 32)));
  FAILS(HM_ARGUMENT, hm_hash(hm_blake3_keyed(hm_str("short")), hm_str("abc"), NULL, room));
  FAILS(HM_ARGUMENT, hm_hash(hm_blake3_keyed(lie()), hm_str("abc"), NULL, room));
  hm_function wrong = {7, {NULL, 0}};
  FAILS(HM_ARGUMENT, hm_hash(wrong, hm_str("abc"), NULL, room));
  hm_function key_for_nothing = {HM_MODE_HASH, hm_str("key")};
  FAILS(HM_ARGUMENT, hm_hash(key_for_nothing, hm_str("abc"), NULL, room));
  hm_error *error = hm_hash(hm_blake3_derive(hm_str("good \xff")), hm_str("abc"), NULL, room);
  CHECK(hm_error_code(error) == HM_NOT_UTF8 && hm_error_place(error) == 5);
  CHECK(strcmp(hm_error_text(error), "function.key is not UTF-8 from byte 5 on") == 0);
  hm_error_free(error);
  hm_span spans[2] = {hm_str("abc"), lie()};
  FAILS(HM_ARGUMENT, hm_hash_many(hm_blake3(), hm_spans_of(spans, 2), NULL, hm_room_of(out, 64)));
  FAILS(HM_ARGUMENT, hm_hash_many(hm_blake3(), hm_spans_of(NULL, 2), NULL, hm_room_of(out, 64)));
  FAILS(HM_ARGUMENT, hm_hash_many(hm_blake3(), hm_spans_of((hm_span *)(out + 1), 1), NULL, room));
  FAILS(HM_ARGUMENT, hm_hash_many(hm_blake3(), hm_spans_of(spans, 1), NULL, hm_room_of(out, 64)));
  OK(hm_hash_many(hm_blake3(), hm_spans_of(NULL, 0), NULL, hm_room_of(NULL, 0)));
  FAILS(HM_ARGUMENT, hm_hasher_create(hm_blake3(), NULL));
  FAILS(HM_ARGUMENT, hm_hasher_create(wrong, &hasher));
  CHECK(hasher == NULL);
  FAILS(HM_ARGUMENT, hm_hasher_update(NULL, hm_str("abc"), NULL));
  FAILS(HM_ARGUMENT, hm_hasher_finalize(NULL, 0, room));
  FAILS(HM_ARGUMENT, hm_hasher_reset(NULL));
  FAILS(HM_ARGUMENT, hm_hasher_clone(NULL, &hasher));
  OK(hm_hasher_create(hm_blake3(), &hasher));
  FAILS(HM_ARGUMENT, hm_hasher_finalize(hasher, UINT64_MAX, room));
  hm_hasher_free(hasher);
  hm_hasher_free(NULL);
  hm_pool_free(NULL);
  hm_files_free(NULL);
  hm_file_digests_free(NULL);
  hm_bytes_free(NULL);
  hm_error_free(NULL);
  CHECK(hm_error_code(NULL) == HM_OK && hm_error_place(NULL) == UINT64_MAX && hm_error_system(NULL) == 0);
  CHECK(strcmp(hm_error_text(NULL), "no error") == 0);
  FAILS(HM_ARGUMENT, hm_pool_create(1, NULL));
  hm_pool *none;
  FAILS(HM_ARGUMENT, hm_pool_create(UINT32_MAX, &none));
  CHECK(none == NULL);
}

static void files(const char *path, hm_pool *pool) {
  uint8_t digest[32];
  hm_file_options options = {.threads = 2, .map = 1};
  hm_files *files, *keyed;
  OK(hm_files_create(hm_blake3(), &options, &files));
  OK(hm_files_create(hm_blake3_derive(hm_str("a purpose")), NULL, &keyed));
  FILE *file = fopen(path, "wb");
  CHECK(file && fwrite(large, 1, LARGE, file) == LARGE && fclose(file) == 0);
  hm_file_digest found;
  OK(hm_files_hash(files, hm_str(path), &found));
  OK(hm_hash(hm_blake3(), hm_span_of(large, LARGE), pool, hm_room_of(digest, 32)));
  CHECK(found.len == LARGE && found.error == NULL && same(found.bytes, digest, 32));
  OK(hm_files_hash(keyed, hm_str(path), &found));
  OK(hm_hash(hm_blake3_derive(hm_str("a purpose")), hm_span_of(large, LARGE), pool, hm_room_of(digest, 32)));
  CHECK(same(found.bytes, digest, 32));
  hm_error *error = hm_files_hash(files, hm_str("/nowhere/at/all"), &found);
  CHECK(hm_error_code(error) == HM_SYSTEM && hm_error_system(error) == 2);
  hm_error_free(error);
  hm_span paths[3] = {hm_str(path), hm_str("/nowhere/at/all"), hm_str(path)};
  hm_file_digests *digests;
  OK(hm_files_hash_many(files, hm_spans_of(paths, 3), &digests));
  hm_files_free(files);
  CHECK(digests->len == 3 && digests->items[0].error == NULL && digests->items[2].len == LARGE);
  CHECK(hm_error_code(digests->items[1].error) == HM_SYSTEM && same(digests->items[0].bytes, digests->items[2].bytes, 32));
  hm_file_digests_free(digests);
  FAILS(HM_ARGUMENT, hm_files_hash(NULL, hm_str(path), &found));
  FAILS(HM_ARGUMENT, hm_files_hash(keyed, hm_str(path), NULL));
  FAILS(HM_ARGUMENT, hm_files_hash(keyed, lie(), &found));
  FAILS(HM_ARGUMENT, hm_files_hash_many(keyed, hm_spans_of(NULL, 3), &digests));
  hm_files_free(keyed);
}

static void *thread(void *pool) {
  uint8_t one[32], other[32];
  for (int n = 0; n < 20; n++) {
    OK(hm_hash(hm_blake3(), hm_span_of(large, LARGE / 4), pool, hm_room_of(one, 32)));
    OK(hm_hash(hm_blake3(), hm_span_of(large, LARGE / 4), NULL, hm_room_of(other, 32)));
    CHECK(same(one, other, 32));
  }
  return NULL;
}

// A child has none of the threads, and works without them.
static void forks(hm_pool *pool) {
  fflush(stdout);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    answers(pool);
    hm_pool_free(pool);
    fflush(stdout);
    _exit(0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int count, char **arguments) {
  CHECK(count == 2);
  large = malloc(LARGE);
  for (size_t n = 0; n < LARGE; n++) large[n] = (uint8_t)(n % 251);
  hm_pool *pool;
  OK(hm_pool_create(3, &pool));
  answers(pool);
  answers(NULL);
  wrong_arguments();
  files(arguments[1], pool);
  pthread_t threads[THREADS];
  for (int n = 0; n < THREADS; n++) CHECK(pthread_create(&threads[n], NULL, thread, pool) == 0);
  for (int n = 0; n < THREADS; n++) CHECK(pthread_join(threads[n], NULL) == 0);
  forks(pool);
  hm_pool_free(pool);
  free(large);
  puts("done");
}
