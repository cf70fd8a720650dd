/* One hash of each library; the digest twice. */
#include <argon2.h>
#include <blake3.h>
#include <hashmill.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    uint8_t tag[32], digest[BLAKE3_OUT_LEN];
    int error = argon2id_hash_raw(1, 64, 1, "password", 8, "sixteen bytes ok", 16, tag, sizeof tag);
    if (error != ARGON2_OK) return fputs(argon2_error_message(error), stderr), 1;
    blake3_hasher hasher;
    blake3_hasher_init(&hasher);
    blake3_hasher_update(&hasher, tag, sizeof tag);
    blake3_hasher_finalize(&hasher, digest, sizeof digest);
    uint8_t again[BLAKE3_OUT_LEN];
    hm_error *failed = hm_hash(hm_blake3(), hm_span_of(tag, sizeof tag), NULL, hm_room_of(again, sizeof again));
    if (failed || memcmp(again, digest, sizeof digest) != 0) return fputs(hm_error_text(failed), stderr), 1;
    for (int i = 0; i < BLAKE3_OUT_LEN; i++) printf("%02x", digest[i]);
    puts("");
    return 0;
}
