/* Compares two libraries with the same interface: differential OURS THEIRS CASES. All answers must be equal. */
#define _GNU_SOURCE
#include <argon2.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int ctx_fn(argon2_context *, argon2_type);
typedef int verify_ctx_fn(argon2_context *, const char *, argon2_type);
typedef int verify_fn(const char *, const void *, size_t, argon2_type);
typedef int hash_fn(uint32_t, uint32_t, uint32_t, const void *, size_t, const void *, size_t, void *, size_t, char *,
                    size_t, argon2_type, uint32_t);
typedef const char *message_fn(int);
typedef const char *name_fn(argon2_type, int);
typedef size_t len_fn(uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, argon2_type);

static struct library {
    ctx_fn *ctx;
    verify_ctx_fn *verify_ctx;
    verify_fn *verify;
    hash_fn *hash;
    message_fn *message;
    name_fn *name;
    len_fn *len;
} library[2];

#define SAME(what, a, b)                                                                                               \
    do {                                                                                                               \
        long long a_ = (long long)(a), b_ = (long long)(b);                                                            \
        if (a_ != b_) fprintf(stderr, "case %u: %s: %lld, theirs %lld\n", number, what, a_, b_), exit(1);              \
    } while (0)
#define SAME_BYTES(what, a, b, len) SAME(what, memcmp(a, b, len), 0)

static unsigned number;
static uint64_t state = 0x9e3779b97f4a7c15;

static uint32_t below(uint32_t n) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (uint32_t)((state >> 32) % n);
}

static uint32_t one_of(uint32_t usual, uint32_t a, uint32_t b, uint32_t c) {
    uint32_t odd[] = {a, b, c};
    return below(12) ? usual : odd[below(3)];
}

static void *symbol(void *from, const char *name) {
    void *found = dlsym(from, name);
    if (!found) fprintf(stderr, "no %s\n", name), exit(1);
    return found;
}

static uint8_t bytes[2048], out[2][1024];

static void contexts(void) {
    argon2_context made[2];
    uint32_t lanes = 1 + below(5), type = one_of(below(3), 3, 77, 0xffffffff);
    uint8_t input[2][3][256];
    argon2_context c;
    memset(&c, 0, sizeof c);
    c.outlen = one_of(4 + below(200), 0, 3, 1000), c.pwdlen = below(200), c.saltlen = one_of(8 + below(140), 0, 7, 8);
    c.secretlen = below(3) ? 0 : below(100), c.adlen = below(3) ? 0 : below(200);
    c.lanes = one_of(lanes, 0, 1u << 24, 0x20000001 * below(3)), c.threads = one_of(1 + below(6), 0, 1u << 24, 0xffffff);
    /* Some libraries really start this number of threads. */
    if (c.threads == 0xffffff && c.lanes > 64) c.threads = 1;
    c.m_cost = one_of(8 * lanes + below(300), 7, 8 * lanes - 1, 8 * lanes), c.t_cost = one_of(1 + below(3), 0, 0, 1);
    uint32_t versions[] = {0x13, 0x13, 0x10, 0, 99, 0xffffffff};
    c.version = versions[below(6)], c.flags = below(4);
    for (int i = 0; i < 2; i++) {
        made[i] = c;
        memcpy(input[i][0], bytes, 256), memcpy(input[i][1], bytes + 256, 256), memcpy(input[i][2], bytes + 512, 256);
        made[i].pwd = input[i][0], made[i].secret = input[i][1], made[i].salt = input[i][2], made[i].ad = bytes + 768;
        made[i].out = out[i];
        memset(out[i], 0x55, sizeof out[i]);
    }
    uint32_t null = below(24);
    for (int i = 0; i < 2; i++) {
        uint8_t **pointers[] = {&made[i].pwd, &made[i].secret, &made[i].salt, &made[i].ad, &made[i].out};
        if (null < 5) *pointers[null] = NULL;
        if (null == 5) made[i].pwd = NULL, made[i].pwdlen = 0;
    }
    if (below(3)) {
        SAME("ctx", library[0].ctx(&made[0], type), library[1].ctx(&made[1], type));
    } else {
        const char *hash = (const char *)(below(2) ? out[0] : bytes);
        if (null != 4 && library[1].ctx(&made[1], type) == ARGON2_OK && hash == (const char *)out[0])
            memcpy(bytes + 1024, out[1], sizeof out[1] / 2), hash = (const char *)bytes + 1024;
        made[1].pwdlen = made[0].pwdlen, made[1].secretlen = made[0].secretlen;
        memcpy(input[1], input[0], sizeof input[0]);
        if (null != 4)
            SAME("verify_ctx", library[0].verify_ctx(&made[0], hash, type), library[1].verify_ctx(&made[1], hash, type));
    }
    if (null != 4) SAME_BYTES("tag", out[0], out[1], sizeof out[0]);
    SAME("pwdlen", made[0].pwdlen, made[1].pwdlen);
    SAME("secretlen", made[0].secretlen, made[1].secretlen);
    SAME_BYTES("inputs", input[0], input[1], sizeof input[0]);
}

static void strings(void) {
    char text[2][512], changed[600];
    uint8_t raw[2][300];
    uint32_t lanes = 1 + below(4), type = one_of(below(3), 3, 4, 5), version = one_of(0x13, 0x10, 18, 12345);
    uint32_t kib = one_of(8 * lanes + below(200), 1, 8, 0x7fffffff & 15), t = one_of(1 + below(2), 0, 1, 3);
    size_t salt_len = one_of(8 + below(60), 0, 7, 100), len = one_of(4 + below(100), 0, 3, 250);
    size_t room = below(4) ? sizeof text[0] : below(256);
    for (int i = 0; i < 2; i++) memset(text[i], 'x', sizeof text[i]), memset(raw[i], 'x', sizeof raw[i]);
    int code[2];
    for (int i = 0; i < 2; i++)
        code[i] = library[i].hash(t, kib, lanes, bytes, 20, bytes + 64, salt_len, number % 3 ? raw[i] : NULL,
                                  len, text[i], room, type, version);
    SAME("hash", code[0], code[1]);
    SAME_BYTES("raw", raw[0], raw[1], sizeof raw[0]);
    if (code[0] == ARGON2_OK) SAME("encoded", strcmp(text[0], text[1]), 0);
    else SAME_BYTES("encoded", text[0], text[1], sizeof text[0]);
    if (type < 3) SAME("len", library[0].len(t, kib, lanes, salt_len, len, type), library[1].len(t, kib, lanes, salt_len, len, type));
    if (code[0] != ARGON2_OK || room != sizeof text[0]) return;
    SAME("verify", library[0].verify(text[0], bytes, 20, type), library[1].verify(text[0], bytes, 20, type));
    SAME("verify", library[0].verify(text[0], bytes, 19, type), library[1].verify(text[0], bytes, 19, type));
    SAME("verify", library[0].verify(text[0], NULL, 20, type), library[1].verify(text[0], NULL, 20, type));
    uint32_t other = below(4);
    SAME("verify", library[0].verify(text[0], bytes, 20, other), library[1].verify(text[0], bytes, 20, other));
    /* A string with one error or several. */
    strcpy(changed, text[0]);
    size_t end = strlen(changed);
    for (uint32_t faults = 1 + below(2); faults; faults--) {
        /* No bytes from 0x80 on: if char is signed, their library reads them as a slash. */
        static const char odd[] = "$,=0A/+ -v\n9mtp\x7f";
        size_t at = below((uint32_t)end + 1);
        switch (below(5)) {
        case 0: changed[at] = 0; break;
        case 1: changed[at] = odd[below(sizeof odd - 1)]; break;
        case 2: memmove(changed + at + 1, changed + at, end - at + 1), changed[at] = odd[below(sizeof odd - 1)]; break;
        case 3: memmove(changed + at, changed + at + 1, end - at); break;
        default: strcat(changed, "A"); break;
        }
        changed[sizeof changed - 1] = 0;
        if ((end = strlen(changed)) > 550 || end == 0) break;
    }
    /* Skipped: too expensive. */
    unsigned long costs[3];
    const char *m = strstr(changed, "m=");
    if (m && sscanf(m, "m=%lu,t=%lu,p=%lu", &costs[0], &costs[1], &costs[2]) == 3 &&
        (costs[0] > 20000 || costs[1] > 50 || costs[2] > 50))
        return;
    SAME(changed, library[0].verify(changed, bytes, 20, type), library[1].verify(changed, bytes, 20, type));
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    for (int i = 0; i < 2; i++) {
        void *from = dlopen(argv[1 + i], RTLD_NOW | RTLD_LOCAL);
        if (!from) return fprintf(stderr, "%s\n", dlerror()), 1;
        struct library *l = &library[i];
        l->ctx = (ctx_fn *)symbol(from, "argon2_ctx"), l->hash = (hash_fn *)symbol(from, "argon2_hash");
        l->verify_ctx = (verify_ctx_fn *)symbol(from, "argon2_verify_ctx");
        l->verify = (verify_fn *)symbol(from, "argon2_verify"), l->name = (name_fn *)symbol(from, "argon2_type2string");
        l->message = (message_fn *)symbol(from, "argon2_error_message"), l->len = (len_fn *)symbol(from, "argon2_encodedlen");
    }
    for (int code = -40; code < 5; code++) SAME("message", strcmp(library[0].message(code), library[1].message(code)), 0);
    for (int type = 0; type < 3; type++)
        for (int upper = 0; upper < 3; upper++)
            SAME("name", strcmp(library[0].name(type, upper), library[1].name(type, upper)), 0);
    SAME("name", library[0].name(3, 0) == NULL, library[1].name(3, 0) == NULL);
    SAME("null", library[0].ctx(NULL, Argon2_id), library[1].ctx(NULL, Argon2_id));
    SAME("null", library[0].verify(NULL, "", 0, Argon2_id), library[1].verify(NULL, "", 0, Argon2_id));
    size_t much = (size_t)1 << 32;
    for (int which = 0; which < 3; which++) {
        size_t l[] = {8, 8, 8};
        l[which] = much;
        SAME("much", library[0].hash(1, 8, 1, bytes, l[0], bytes, l[1], NULL, l[2], NULL, 0, Argon2_d, 19),
             library[1].hash(1, 8, 1, bytes, l[0], bytes, l[1], NULL, l[2], NULL, 0, Argon2_d, 19));
    }
    SAME("much", library[0].verify("", "", much, Argon2_id), library[1].verify("", "", much, Argon2_id));
    unsigned cases = (unsigned)atoi(argv[3]);
    for (number = 1; number <= cases; number++) {
        for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)below(256);
        contexts();
        strings();
    }
    printf("%u cases\n", cases);
    return 0;
}
