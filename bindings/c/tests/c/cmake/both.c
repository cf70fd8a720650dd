/* One hash of each library. */
#include <argon2.h>
#include <blake3.h>
#include <stdio.h>

int main(void) {
    uint8_t tag[32], digest[BLAKE3_OUT_LEN];
    int error = argon2id_hash_raw(1, 64, 1, "password", 8, "sixteen bytes ok", 16, tag, sizeof tag);
    if (error != ARGON2_OK) return fputs(argon2_error_message(error), stderr), 1;
    blake3_hasher hasher;
    blake3_hasher_init(&hasher);
    blake3_hasher_update(&hasher, tag, sizeof tag);
    blake3_hasher_finalize(&hasher, digest, sizeof digest);
    for (int i = 0; i < BLAKE3_OUT_LEN; i++) printf("%02x", digest[i]);
    puts("");
    return 0;
}
