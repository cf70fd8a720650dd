/* BLAKE3 by Hashmill: the names, the layout and the numbers of the official C implementation's blake3.h.
 *
 * A hasher is plain data: it may be at any address, be copied with memcpy, and be discarded without a call. Its contents are
 * private. No function allocates, and no state is kept between calls, except the threads of blake3_hasher_update_tbb.
 */
#ifndef BLAKE3_H
#define BLAKE3_H

#include <stddef.h>
#include <stdint.h>

#if !defined(BLAKE3_API)
#define BLAKE3_API
#define BLAKE3_PRIVATE
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define BLAKE3_VERSION_STRING "1.8.7" /* of the interface */
#define BLAKE3_KEY_LEN 32
#define BLAKE3_OUT_LEN 32
#define BLAKE3_BLOCK_LEN 64
#define BLAKE3_CHUNK_LEN 1024
#define BLAKE3_MAX_DEPTH 54

typedef struct {
    uint64_t words[239];
} blake3_hasher;

BLAKE3_API const char *blake3_version(void);

/* One of these must be called first. */
BLAKE3_API void blake3_hasher_init(blake3_hasher *self);
BLAKE3_API void blake3_hasher_init_keyed(blake3_hasher *self, const uint8_t key[BLAKE3_KEY_LEN]);
BLAKE3_API void blake3_hasher_init_derive_key(blake3_hasher *self, const char *context);
BLAKE3_API void blake3_hasher_init_derive_key_raw(blake3_hasher *self, const void *context, size_t context_len);

BLAKE3_API void blake3_hasher_update(blake3_hasher *self, const void *input, size_t input_len);

/* The same, with one thread per processor if that is faster. The official header declares it if BLAKE3_USE_TBB
 * is defined; oneTBB is not needed. */
BLAKE3_API void blake3_hasher_update_tbb(blake3_hasher *self, const void *input, size_t input_len);

/* Any number of bytes of output, from the beginning or from a given byte on. More input may follow. */
BLAKE3_API void blake3_hasher_finalize(const blake3_hasher *self, uint8_t *out, size_t out_len);
BLAKE3_API void blake3_hasher_finalize_seek(const blake3_hasher *self, uint64_t seek, uint8_t *out, size_t out_len);

/* Resets the hasher to the state before any input, in the same mode. */
BLAKE3_API void blake3_hasher_reset(blake3_hasher *self);

#ifdef __cplusplus
}
#endif

#endif
