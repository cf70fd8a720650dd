/* libargon2, ABI 1, by Hashmill: the names, the layouts and the numbers of the reference implementation's argon2.h.
 *
 * No function keeps state between calls or reads the environment; all may be called by several threads at the same time.
 * Functions that return an int return ARGON2_OK or a negative number; argon2_error_message has its meaning.
 */
#ifndef ARGON2_H
#define ARGON2_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

#define ARGON2_PUBLIC
#define ARGON2_LOCAL

/* Limits. Lengths are in bytes, memory is in KiB. */
#define ARGON2_MIN_LANES UINT32_C(1)
#define ARGON2_MAX_LANES UINT32_C(0xFFFFFF)
#define ARGON2_MIN_THREADS UINT32_C(1)
#define ARGON2_MAX_THREADS UINT32_C(0xFFFFFF)
#define ARGON2_SYNC_POINTS UINT32_C(4) /* pieces of a pass */
#define ARGON2_MIN_OUTLEN UINT32_C(4)
#define ARGON2_MAX_OUTLEN UINT32_C(0xFFFFFFFF)
#define ARGON2_MIN_MEMORY (2 * ARGON2_SYNC_POINTS) /* for each lane */
#define ARGON2_MIN(a, b) ((a) < (b) ? (a) : (b))
#define ARGON2_MAX_MEMORY_BITS ARGON2_MIN(UINT32_C(32), (sizeof(void *) * CHAR_BIT - 10 - 1))
#define ARGON2_MAX_MEMORY ARGON2_MIN(UINT32_C(0xFFFFFFFF), UINT64_C(1) << ARGON2_MAX_MEMORY_BITS)
#define ARGON2_MIN_TIME UINT32_C(1)
#define ARGON2_MAX_TIME UINT32_C(0xFFFFFFFF)
#define ARGON2_MIN_PWD_LENGTH UINT32_C(0)
#define ARGON2_MAX_PWD_LENGTH UINT32_C(0xFFFFFFFF)
#define ARGON2_MIN_AD_LENGTH UINT32_C(0)
#define ARGON2_MAX_AD_LENGTH UINT32_C(0xFFFFFFFF)
#define ARGON2_MIN_SALT_LENGTH UINT32_C(8)
#define ARGON2_MAX_SALT_LENGTH UINT32_C(0xFFFFFFFF)
#define ARGON2_MIN_SECRET UINT32_C(0)
#define ARGON2_MAX_SECRET UINT32_C(0xFFFFFFFF)

/* Inputs to be wiped after they are read; their length is set to 0. */
#define ARGON2_DEFAULT_FLAGS UINT32_C(0)
#define ARGON2_FLAG_CLEAR_PASSWORD (UINT32_C(1) << 0)
#define ARGON2_FLAG_CLEAR_SECRET (UINT32_C(1) << 1)

/* In the static library only. Memory is wiped after each hash, regardless of this flag. */
extern int FLAG_clear_internal_memory;

typedef enum Argon2_ErrorCodes {
    ARGON2_OK = 0,
    ARGON2_OUTPUT_PTR_NULL = -1,
    ARGON2_OUTPUT_TOO_SHORT = -2,
    ARGON2_OUTPUT_TOO_LONG = -3,
    ARGON2_PWD_TOO_SHORT = -4,
    ARGON2_PWD_TOO_LONG = -5,
    ARGON2_SALT_TOO_SHORT = -6,
    ARGON2_SALT_TOO_LONG = -7,
    ARGON2_AD_TOO_SHORT = -8,
    ARGON2_AD_TOO_LONG = -9,
    ARGON2_SECRET_TOO_SHORT = -10,
    ARGON2_SECRET_TOO_LONG = -11,
    ARGON2_TIME_TOO_SMALL = -12,
    ARGON2_TIME_TOO_LARGE = -13,
    ARGON2_MEMORY_TOO_LITTLE = -14,
    ARGON2_MEMORY_TOO_MUCH = -15,
    ARGON2_LANES_TOO_FEW = -16,
    ARGON2_LANES_TOO_MANY = -17,
    ARGON2_PWD_PTR_MISMATCH = -18, /* a null pointer with a length */
    ARGON2_SALT_PTR_MISMATCH = -19,
    ARGON2_SECRET_PTR_MISMATCH = -20,
    ARGON2_AD_PTR_MISMATCH = -21,
    ARGON2_MEMORY_ALLOCATION_ERROR = -22,
    ARGON2_FREE_MEMORY_CBK_NULL = -23,
    ARGON2_ALLOCATE_MEMORY_CBK_NULL = -24,
    ARGON2_INCORRECT_PARAMETER = -25,
    ARGON2_INCORRECT_TYPE = -26,
    ARGON2_OUT_PTR_MISMATCH = -27,
    ARGON2_THREADS_TOO_FEW = -28,
    ARGON2_THREADS_TOO_MANY = -29,
    ARGON2_MISSING_ARGS = -30,
    ARGON2_ENCODING_FAIL = -31,
    ARGON2_DECODING_FAIL = -32,
    ARGON2_THREAD_FAIL = -33,
    ARGON2_DECODING_LENGTH_FAIL = -34,
    ARGON2_VERIFY_MISMATCH = -35
} argon2_error_codes;

/* Sets *memory to that many bytes, or leaves it null; its return value is ignored. Memory that does not begin at a multiple of
 * 64 is freed at once, and a request for 63 more bytes follows. Freed memory is wiped, if a hash was in it. */
typedef int (*allocate_fptr)(uint8_t **memory, size_t bytes_to_allocate);
typedef void (*deallocate_fptr)(uint8_t *memory, size_t bytes_to_allocate);

typedef struct Argon2_Context {
    uint8_t *out; /* output: the hash */
    uint32_t outlen;
    uint8_t *pwd;
    uint32_t pwdlen;
    uint8_t *salt;
    uint32_t saltlen;
    uint8_t *secret; /* a key that is stored apart from hashes, or null */
    uint32_t secretlen;
    uint8_t *ad; /* associated data, or null */
    uint32_t adlen;
    uint32_t t_cost;  /* passes */
    uint32_t m_cost;  /* KiB */
    uint32_t lanes;
    uint32_t threads; /* maximum number of threads: never more than lanes and processors work */
    uint32_t version;
    allocate_fptr allocate_cbk; /* both, or neither */
    deallocate_fptr free_cbk;
    uint32_t flags;
} argon2_context;

typedef enum Argon2_type { Argon2_d = 0, Argon2_i = 1, Argon2_id = 2 } argon2_type;

typedef enum Argon2_version {
    ARGON2_VERSION_10 = 0x10,
    ARGON2_VERSION_13 = 0x13,
    ARGON2_VERSION_NUMBER = ARGON2_VERSION_13
} argon2_version;

/* "argon2id", or "Argon2id" if uppercase; null if there is no such type. */
ARGON2_PUBLIC const char *argon2_type2string(argon2_type type, int uppercase);

/* The meaning of a number that a function returned. */
ARGON2_PUBLIC const char *argon2_error_message(int error_code);

/* The size of an encoded hash, including the zero at its end. */
ARGON2_PUBLIC size_t argon2_encodedlen(uint32_t t_cost, uint32_t m_cost, uint32_t parallelism, uint32_t saltlen,
                                       uint32_t hashlen, argon2_type type);

/* Writes the hash of a context to its out. */
ARGON2_PUBLIC int argon2_ctx(argon2_context *context, argon2_type type);
ARGON2_PUBLIC int argon2d_ctx(argon2_context *context);
ARGON2_PUBLIC int argon2i_ctx(argon2_context *context);
ARGON2_PUBLIC int argon2id_ctx(argon2_context *context);

/* The same, and ARGON2_VERIFY_MISMATCH if the hash differs from the outlen bytes at hash. */
ARGON2_PUBLIC int argon2_verify_ctx(argon2_context *context, const char *hash, argon2_type type);
ARGON2_PUBLIC int argon2d_verify_ctx(argon2_context *context, const char *hash);
ARGON2_PUBLIC int argon2i_verify_ctx(argon2_context *context, const char *hash);
ARGON2_PUBLIC int argon2id_verify_ctx(argon2_context *context, const char *hash);

/* Writes a hash to hash if that is not null, and as a string to encoded if that is not null and large enough. The short functions use
 * version 0x13. There are as many lanes as threads. */
ARGON2_PUBLIC int argon2_hash(const uint32_t t_cost, const uint32_t m_cost, const uint32_t parallelism, const void *pwd,
                              const size_t pwdlen, const void *salt, const size_t saltlen, void *hash,
                              const size_t hashlen, char *encoded, const size_t encodedlen, argon2_type type,
                              const uint32_t version);
ARGON2_PUBLIC int argon2d_hash_raw(const uint32_t t_cost, const uint32_t m_cost, const uint32_t parallelism,
                                   const void *pwd, const size_t pwdlen, const void *salt, const size_t saltlen,
                                   void *hash, const size_t hashlen);
ARGON2_PUBLIC int argon2i_hash_raw(const uint32_t t_cost, const uint32_t m_cost, const uint32_t parallelism,
                                   const void *pwd, const size_t pwdlen, const void *salt, const size_t saltlen,
                                   void *hash, const size_t hashlen);
ARGON2_PUBLIC int argon2id_hash_raw(const uint32_t t_cost, const uint32_t m_cost, const uint32_t parallelism,
                                    const void *pwd, const size_t pwdlen, const void *salt, const size_t saltlen,
                                    void *hash, const size_t hashlen);
ARGON2_PUBLIC int argon2d_hash_encoded(const uint32_t t_cost, const uint32_t m_cost, const uint32_t parallelism,
                                       const void *pwd, const size_t pwdlen, const void *salt, const size_t saltlen,
                                       const size_t hashlen, char *encoded, const size_t encodedlen);
ARGON2_PUBLIC int argon2i_hash_encoded(const uint32_t t_cost, const uint32_t m_cost, const uint32_t parallelism,
                                       const void *pwd, const size_t pwdlen, const void *salt, const size_t saltlen,
                                       const size_t hashlen, char *encoded, const size_t encodedlen);
ARGON2_PUBLIC int argon2id_hash_encoded(const uint32_t t_cost, const uint32_t m_cost, const uint32_t parallelism,
                                        const void *pwd, const size_t pwdlen, const void *salt, const size_t saltlen,
                                        const size_t hashlen, char *encoded, const size_t encodedlen);

/* ARGON2_OK if the password matches the encoded hash, ARGON2_VERIFY_MISMATCH if not. The string determines the cost: do not
 * verify untrusted strings. */
ARGON2_PUBLIC int argon2_verify(const char *encoded, const void *pwd, const size_t pwdlen, argon2_type type);
ARGON2_PUBLIC int argon2d_verify(const char *encoded, const void *pwd, const size_t pwdlen);
ARGON2_PUBLIC int argon2i_verify(const char *encoded, const void *pwd, const size_t pwdlen);
ARGON2_PUBLIC int argon2id_verify(const char *encoded, const void *pwd, const size_t pwdlen);

#if defined(__cplusplus)
}
#endif

#endif
