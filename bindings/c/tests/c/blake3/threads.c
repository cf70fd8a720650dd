/* Threads of the library in forked children, and after a program unloads it: threads LIBRARY. */
#define _GNU_SOURCE
#include <blake3.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void (*init)(blake3_hasher *), (*update)(blake3_hasher *, const void *, size_t), (*finalize)(const blake3_hasher *, uint8_t *, size_t);

static void hash(const void *input, size_t len, uint8_t out[BLAKE3_OUT_LEN]) {
    blake3_hasher hasher;
    init(&hasher);
    update(&hasher, input, len);
    finalize(&hasher, out, BLAKE3_OUT_LEN);
}

int main(int argc, char **argv) {
    static uint8_t expected[BLAKE3_OUT_LEN], out[BLAKE3_OUT_LEN];
    size_t len = 8 << 20;
    uint8_t *input = malloc(len);
    void *library = argc == 2 && input ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!library) return fputs("no library\n", stderr), 2;
    *(void **)&init = dlsym(library, "blake3_hasher_init");
    *(void **)&update = dlsym(library, "blake3_hasher_update");
    *(void **)&finalize = dlsym(library, "blake3_hasher_finalize");
    memset(input, 7, len);
    hash(input, len, expected);
    *(void **)&update = dlsym(library, "blake3_hasher_update_tbb");
    for (int forks = 0; forks < 3; forks++) {
        hash(input, len, out);
        if (memcmp(out, expected, sizeof out)) return fputs("another digest\n", stderr), 1;
        pid_t child = fork();
        if (child < 0) return perror("fork"), 2;
        if (child == 0) {
            alarm(300);
            hash(input, len, out);
            _exit(memcmp(out, expected, sizeof out) != 0);
        }
        int status;
        if (waitpid(child, &status, 0) != child || status != 0) return fputs("a child failed\n", stderr), 1;
    }
    if (dlclose(library)) return fputs("not let go\n", stderr), 1;
    /* Sleeping threads would wake in unmapped memory. */
    usleep(200000);
    free(input);
    puts("done");
    return 0;
}
