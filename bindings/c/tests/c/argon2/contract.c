/* Promises of the header besides tags: allocators of callers, flags, wiped memory, threads, errors of the system. */
#define _GNU_SOURCE
#include <argon2.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define CHECK(what)                                                                                                    \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            fprintf(stderr, "line %d: %s\n", __LINE__, #what);                                                         \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* An allocator that checks freed memory. */
static _Alignas(64) uint8_t pool[256 * 1024 + 128];
static size_t skew, asked[4], given_back[4];
static int taken, freed, fails_from, says;

static int take(uint8_t **memory, size_t bytes) {
    CHECK(taken < 4 && *memory == NULL);
    asked[taken++] = bytes;
    if (taken > fails_from || bytes + skew > sizeof pool) return -1;
    memset(pool, 0xa5, sizeof pool);
    *memory = pool + skew;
    return says;
}

static void give_back(uint8_t *memory, size_t bytes) {
    size_t i;
    CHECK(memory == pool + skew && bytes == asked[taken - 1]);
    given_back[freed++] = bytes;
    for (i = 0; i < sizeof pool; i++) CHECK(pool[i] == 0 || pool[i] == 0xa5);
    for (i = 0; i < skew; i++) CHECK(pool[i] == 0xa5);
    for (i = skew + bytes; i < sizeof pool; i++) CHECK(pool[i] == 0xa5);
}

static uint8_t out[32], expected[32], pwd[] = "password", salt[] = "somesalt", secret[] = "a secret", ad[] = "data";

static argon2_context context(void) {
    argon2_context c;
    memset(&c, 0, sizeof c);
    memset(out, 0, sizeof out);
    memcpy(pwd, "password", 8), memcpy(secret, "a secret", 8);
    c.out = out, c.outlen = 32, c.pwd = pwd, c.pwdlen = 8, c.salt = salt, c.saltlen = 8;
    c.secret = secret, c.secretlen = 8, c.ad = ad, c.adlen = 4;
    c.t_cost = 3, c.m_cost = 256, c.lanes = 4, c.threads = 4, c.version = ARGON2_VERSION_13;
    return c;
}

static void start(size_t with_skew, int fail_from) {
    skew = with_skew, fails_from = fail_from, taken = freed = says = 0;
}

static void allocators(void) {
    argon2_context c = context();
    CHECK(argon2id_ctx(&c) == ARGON2_OK);
    memcpy(expected, out, 32);
    size_t at[] = {0, 64, 1, 8, 16, 63};
    for (size_t i = 0; i < 6; i++) {
        c = context(), c.allocate_cbk = take, c.free_cbk = give_back;
        start(at[i], 4);
        says = (int)i; /* its return value is ignored */
        CHECK(argon2id_ctx(&c) == ARGON2_OK && memcmp(out, expected, 32) == 0);
        CHECK(asked[0] == 256 * 1024 && taken == (at[i] % 64 ? 2 : 1) && freed == taken);
        CHECK(taken == 1 || asked[1] == 256 * 1024 + 63);
        CHECK(argon2id_verify_ctx((start(0, 4), &c), (char *)expected) == ARGON2_OK);
    }
    /* No memory, at the first or the second request. */
    for (int from = 0; from < 2; from++) {
        c = context(), c.allocate_cbk = take, c.free_cbk = give_back;
        c.flags = ARGON2_FLAG_CLEAR_PASSWORD | ARGON2_FLAG_CLEAR_SECRET;
        start(16, from);
        CHECK(argon2id_ctx(&c) == ARGON2_MEMORY_ALLOCATION_ERROR && freed == from && taken == from + 1);
        CHECK(c.pwdlen == 8 && memcmp(pwd, "password", 8) == 0 && c.secretlen == 8);
        CHECK(memcmp(secret, "a secret", 8) == 0);
    }
    /* Invalid parameters are detected before any allocation. */
    c.lanes = 0, start(0, 4);
    CHECK(argon2id_ctx(&c) == ARGON2_LANES_TOO_FEW && taken == 0);
    c = context(), c.allocate_cbk = take;
    CHECK(argon2id_ctx(&c) == ARGON2_FREE_MEMORY_CBK_NULL);
    c = context(), c.free_cbk = give_back;
    CHECK(argon2id_ctx(&c) == ARGON2_ALLOCATE_MEMORY_CBK_NULL);
}

static void flags(void) {
    static const uint8_t zero[8];
    for (uint32_t flags = 0; flags < 8; flags++) {
        argon2_context c = context();
        c.flags = flags;
        CHECK(argon2id_ctx(&c) == ARGON2_OK && memcmp(out, expected, 32) == 0);
        CHECK(c.pwdlen == (flags & 1 ? 0 : 8) && !memcmp(pwd, flags & 1 ? (char *)zero : "password", 8));
        CHECK(c.secretlen == (flags & 2 ? 0 : 8) && !memcmp(secret, flags & 2 ? (char *)zero : "a secret", 8));
        CHECK(pwd[8] == 0 && secret[8] == 0 && c.saltlen == 8 && c.adlen == 4);
    }
    /* The tag may take the place of the password. */
    argon2_context c = context();
    uint8_t both[32] = "password";
    c.pwd = c.out = both;
    CHECK(argon2id_ctx(&c) == ARGON2_OK && memcmp(both, expected, 32) == 0);
}

static void encoded(void) {
    char text[128], all[128];
    size_t len = argon2_encodedlen(2, 64, 1, 8, 24, Argon2_id);
    CHECK(argon2id_hash_encoded(2, 64, 1, "pw", 2, salt, 8, 24, all, sizeof all) == ARGON2_OK);
    CHECK(strlen(all) + 1 == len);
    for (size_t room = 1; room < sizeof text; room++) {
        memset(text, 'x', sizeof text);
        int code = argon2id_hash_encoded(2, 64, 1, "pw", 2, salt, 8, 24, text, room);
        CHECK(code == (room < len ? ARGON2_ENCODING_FAIL : ARGON2_OK));
        if (room < len)
            for (size_t i = 0; i < room; i++) CHECK(text[i] == 0);
        else
            CHECK(strcmp(text, all) == 0);
        CHECK(text[room] == 'x');
    }
    CHECK(argon2id_verify(all, "pw", 2) == ARGON2_OK);
    CHECK(argon2id_verify(all, "pW", 2) == ARGON2_VERIFY_MISMATCH);
    CHECK(argon2i_verify(all, "pw", 2) == ARGON2_DECODING_FAIL);
    CHECK(argon2_type2string((argon2_type)3, 0) == NULL && argon2_encodedlen(1, 8, 1, 8, 4, (argon2_type)3) == 0);
}

static uint32_t rounds = 12;

static void *many(void *seed) {
    uint8_t first[32], again[32];
    char text[128];
    for (uint32_t i = 0; i < rounds; i++) {
        uint32_t kib = 8 * 4 + 700 * (i % 5), t = 1 + i % 3;
        CHECK(argon2id_hash_raw(t, kib, 4, seed, 4, salt, 8, first, 32) == ARGON2_OK);
        CHECK(argon2id_hash_raw(t, kib, 4, seed, 4, salt, 8, again, 32) == ARGON2_OK);
        CHECK(memcmp(first, again, 32) == 0);
        CHECK(argon2d_hash_encoded(t, kib, 2, seed, 4, salt, 8, 32, text, sizeof text) == ARGON2_OK);
        CHECK(argon2d_verify(text, seed, 4) == ARGON2_OK);
    }
    return NULL;
}

static void eight_at_once(void) {
    pthread_t threads[8];
    int seeds[8];
    for (int i = 0; i < 8; i++) {
        seeds[i] = i;
        CHECK(pthread_create(&threads[i], NULL, many, &seeds[i]) == 0);
    }
    for (int i = 0; i < 8; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}

/* A system without free memory, and one without free threads. */
static void refusals(void) {
    struct rlimit before, little;
    CHECK(getrlimit(RLIMIT_AS, &before) == 0);
    little = before, little.rlim_cur = (rlim_t)512 << 20;
    CHECK(setrlimit(RLIMIT_AS, &little) == 0);
    memset(out, 7, sizeof out);
    CHECK(argon2id_hash_raw(1, 4u << 20, 1, "pw", 2, salt, 8, out, 32) == ARGON2_MEMORY_ALLOCATION_ERROR);
    CHECK(argon2id_hash_raw(1, UINT32_MAX, 1, "pw", 2, salt, 8, out, 32) == ARGON2_MEMORY_ALLOCATION_ERROR);
    CHECK(argon2id_hash_raw(1, 8, 1, "pw", 2, salt, 8, out, 0xfffffff0) == ARGON2_MEMORY_ALLOCATION_ERROR);
    CHECK(argon2id_verify("$argon2id$v=19$m=4294967295,t=1,p=1$c29tZXNhbHQ$YWJjZGVmZ2g", "pw", 2) ==
          ARGON2_MEMORY_ALLOCATION_ERROR);
    for (int i = 0; i < 32; i++) CHECK(out[i] == 7);
    CHECK(setrlimit(RLIMIT_AS, &before) == 0);
}

int main(int argc, char **argv) {
    (void)argv;
    /* Memory checkers are slow and need more memory. */
    if (argc > 1) rounds = 2;
    allocators();
    flags();
    encoded();
    eight_at_once();
    if (argc == 1) refusals();
    puts("kept");
    return 0;
}
