/* Compares two libraries with the same interface: differential OURS THEIRS CASES. */
#define _GNU_SOURCE
#include <blake3.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef char size_[sizeof(blake3_hasher) == 1912 ? 1 : -1];

static struct library {
    void (*init)(blake3_hasher *);
    void (*keyed)(blake3_hasher *, const uint8_t *);
    void (*derive)(blake3_hasher *, const char *);
    void (*derive_raw)(blake3_hasher *, const void *, size_t);
    void (*update)(blake3_hasher *, const void *, size_t);
    void (*finalize)(const blake3_hasher *, uint8_t *, size_t);
    void (*seek)(const blake3_hasher *, uint64_t, uint8_t *, size_t);
    void (*reset)(blake3_hasher *);
    const char *(*version)(void);
    void (*update_tbb)(blake3_hasher *, const void *, size_t);
} library[2];

static uint64_t state = 0x9e3779b97f4a7c15;

static uint32_t below(uint32_t n) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (uint32_t)((state >> 32) % n);
}

static uint8_t input[1 << 20], out[2][5000];

static void compare(unsigned number, blake3_hasher *hashers) {
    size_t len = below(3) ? below(200) : below(sizeof out[0]);
    uint64_t at = below(2) ? below(1000) : below(4) ? state : UINT64_MAX - below(300);
    for (int i = 0; i < 2; i++) {
        memset(out[i], 0xa5, sizeof out[i]);
        if (number % 2) library[i].finalize(&hashers[i], out[i], len);
        else library[i].seek(&hashers[i], at, out[i], len);
    }
    if (memcmp(out[0], out[1], sizeof out[0])) fprintf(stderr, "case %u: %zu bytes at %llu\n", number, len, (unsigned long long)at), exit(1);
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    static const char *names[] = {"init", "init_keyed", "init_derive_key", "init_derive_key_raw", "update", "finalize", "finalize_seek", "reset"};
    for (int i = 0; i < 2; i++) {
        void *from = dlopen(argv[1 + i], RTLD_NOW | RTLD_LOCAL), **place = (void **)&library[i];
        if (!from) return fprintf(stderr, "%s\n", dlerror()), 1;
        for (int n = 0; n < 8; n++) {
            char name[64];
            snprintf(name, sizeof name, "blake3_hasher_%s", names[n]);
            if (!(place[n] = dlsym(from, name))) return fprintf(stderr, "no %s\n", name), 1;
        }
        *(void **)&library[i].version = dlsym(from, "blake3_version");
        *(void **)&library[i].update_tbb = dlsym(from, "blake3_hasher_update_tbb");
    }
    if (!library[0].update_tbb) return fputs("no blake3_hasher_update_tbb\n", stderr), 1;
    /* Without oneTBB their library lacks this function. */
    if (!library[1].update_tbb) library[1].update_tbb = library[1].update;
    if (strcmp(library[0].version(), library[1].version())) return fputs("another version\n", stderr), 1;
    for (size_t i = 0; i < sizeof input; i++) input[i] = (uint8_t)below(256);
    unsigned cases = (unsigned)atoi(argv[3]);
    for (unsigned number = 1; number <= cases; number++) {
        blake3_hasher hashers[2], copies[2];
        memset(hashers, (int)below(256), sizeof hashers);
        uint32_t mode = below(4), from = below(1000), len = below(100);
        char context[101];
        memcpy(context, input + from, len), context[len] = 0;
        for (int i = 0; i < 2; i++) {
            struct library *l = &library[i];
            switch (mode) {
            case 0: l->init(&hashers[i]); break;
            case 1: l->keyed(&hashers[i], input + from); break;
            case 2: l->derive(&hashers[i], context); break;
            default: l->derive_raw(&hashers[i], len ? input + from : NULL, len);
            }
        }
        compare(number, hashers);
        for (uint32_t pieces = below(12); pieces; pieces--) {
            static const uint32_t most[] = {2, 66, 1100, 5000, 70000, 1 << 19};
            size_t piece = below(most[below(6)]), start = below((uint32_t)(sizeof input - piece));
            int threads = below(2);
            for (int i = 0; i < 2; i++)
                (threads ? library[i].update_tbb : library[i].update)(&hashers[i], piece ? input + start : NULL, piece);
            /* A copied hasher continues, and so does the original. */
            if (below(4) == 0) {
                memcpy(copies, hashers, sizeof copies);
                for (int i = 0; i < 2; i++) library[i].update(&copies[i], input, 777);
                compare(number, copies);
                memset(copies, 0xff, sizeof copies);
            }
            if (below(9) == 0)
                for (int i = 0; i < 2; i++) library[i].reset(&hashers[i]);
            compare(number, hashers);
        }
    }
    printf("%u cases\n", cases);
    return 0;
}
