// Hashmill for C: BLAKE3, passwords. Made of bindings/c/src/hashmill by bindings/c/header.
//
// Errors: a function that can fail gives NULL when all is well, and else an error, which hm_error_free frees. What it was to give lies
// behind its last pointers; there it leaves NULL, or zeros, when it fails. There is no global state, and no last error.
//
// Memory: what a function gives is freed by the function whose name ends in _free, which takes NULL, too. In whatever order, and on
// whatever thread: nothing needs another thing to be alive. What lies behind the pointers of a list is there until the list is freed.
//
// Threads: no function starts threads but those of a pool or of hm_files. Any number of threads may work with one handle at a time in
// functions that take it as a pointer to const; for others a handle is one thread's at a time.
//
// Pointers: NULL for what is needed, and NULL with a length, are errors. A function keeps no pointer of the caller's.
#ifndef HASHMILL_H
#define HASHMILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__GNUC__)
#define HM_MUST_USE __attribute__((warn_unused_result))
#else
#define HM_MUST_USE
#endif


// An error. A function gives NULL where there is none, and one that `hm_error_free` frees otherwise.
typedef struct hm_error hm_error;

// What owns the memory of a list.
typedef struct hm_file_digests_owner hm_file_digests_owner;

// What hashes files. Several threads may use one at a time.
typedef struct hm_files hm_files;

// An input that comes in pieces.
typedef struct hm_hasher hm_hasher;

// What owns the memory that a list shows.
typedef struct hm_owner hm_owner;

// Makes and checks hashes of passwords, and keeps the memory of past hashes, wiped, for the next. Several threads may use one at a
// time.
typedef struct hm_passwords hm_passwords;

// Threads that do the work of whoever calls with them, and sleep between calls. Several threads may use one at a time. It may be freed
// while something that was made with it lives. A child of `fork` has no such threads: its callers do the work.
typedef struct hm_pool hm_pool;

// What owns the memory of a list.
typedef struct hm_verdicts_owner hm_verdicts_owner;

// What kind of error it is: for programs. More may come.
typedef uint32_t hm_code;

// Bytes that a function gave: `hm_bytes_free` frees them. Behind the last lies a zero that is not counted, so that a text without zeros
// is a string of C.
typedef struct {
  // The first byte.
  const uint8_t *data;
  // How many.
  size_t len;
  // The owner's.
  hm_owner *owner;
} hm_bytes;

// How BLAKE3 is used.
typedef uint32_t hm_mode;

// Bytes of the caller, which are looked at during a call and not after it: a text in UTF-8, which needs no zero at its end, or any
// bytes. No bytes at all may lie anywhere, at NULL too. `hm_str` makes one of a string of C.
typedef struct {
  // The first byte.
  const uint8_t *data;
  // How many.
  size_t len;
} hm_span;

// BLAKE3 in one of its modes.
typedef struct {
  // Which.
  hm_mode mode;
  // What the mode wants.
  hm_span key;
} hm_function;

// Room of the caller that is filled with bytes.
typedef struct {
  // Where it begins.
  uint8_t *data;
  // How many bytes there are.
  size_t len;
} hm_room;

// Several pieces of bytes.
typedef struct {
  // The first.
  const hm_span *items;
  // How many.
  size_t len;
} hm_spans;

// How files are read. Zeros are a good choice.
typedef struct {
  // The most threads; 0 for one per processor.
  uint32_t threads;
  // Not 0: files may be mapped. That is faster for some, and installs a handler for SIGBUS, which hands on what is not its own.
  uint32_t map;
  // Not 0: of a file that cannot be read everywhere the rest is read, and the error says how much that is.
  uint32_t keep_going;
} hm_file_options;

// The digest of a file.
typedef struct {
  // The digest.
  uint8_t bytes[32];
  // How many bytes were hashed.
  uint64_t len;
  // In a list: why there is no digest, or NULL. It is freed with the list.
  const hm_error *error;
} hm_file_digest;

// The digests of several files, in the order of their paths.
typedef struct {
  // The first.
  const hm_file_digest *items;
  // How many.
  size_t len;
  // The owner's.
  hm_file_digests_owner *owner;
} hm_file_digests;

// What new hashes look like.
typedef struct {
  // Of Argon2: 0 for Argon2d, 1 for Argon2i, 2 for Argon2id.
  uint32_t variant;
  // Memory in KiB.
  uint32_t memory_kib;
  // Passes over it.
  uint32_t passes;
  // Lanes, which threads may share.
  uint32_t lanes;
  // Bytes of salt.
  uint32_t salt_len;
  // Bytes of the tag.
  uint32_t tag_len;
} hm_policy;

// How passwords are checked. Zeros are a good choice.
typedef struct {
  // A key that is kept apart from the hashes and that all of them are bound to ("pepper"). The copy of it is wiped.
  hm_span secret;
  // The most memory in use at any time, in KiB, by all threads together: calls wait for their turn. 0 for no bound.
  uint64_t memory_budget_kib;
  // What a stored string may ask for: memory in KiB. 0, as for the next three, for eight times what the policy does.
  uint32_t most_memory_kib;
  // Passes.
  uint32_t most_passes;
  // Lanes.
  uint32_t most_lanes;
  // Not 0: strings of some other implementations are read, too.
  uint32_t lenient;
  // Memory times passes.
  uint64_t most_work_kib;
} hm_password_options;

// What became of one of many logins.
typedef struct {
  // NULL if the password matches. It is freed with the list.
  const hm_error *error;
  // Whether a new hash should be stored.
  bool upgrade;
} hm_verdict;

// What became of many logins, in their order.
typedef struct {
  // The first.
  const hm_verdict *items;
  // How many.
  size_t len;
  // The owner's.
  hm_verdicts_owner *owner;
} hm_verdicts;

// No error.
#define HM_OK 0

// The caller's: a pointer that is NULL, a number that means nothing, a length that does not fit.
#define HM_ARGUMENT 1

// The caller's: a text that is not UTF-8. `hm_error_place` is its first byte that is none.
#define HM_NOT_UTF8 2

// A fault of this library. The handles of the call can be freed, and nothing else.
#define HM_INTERNAL 3

// The system has no memory left.
#define HM_MEMORY 4

// The operating system refused: `hm_error_system` is its number.
#define HM_SYSTEM 5

// It is another password.
#define HM_MISMATCH 6

// Bytes or a text that break their format. `hm_error_place` is where, if that is known.
#define HM_MALFORMED 7

// More was asked for than limits allow.
#define HM_LIMIT 8

// A file changed while it was read, or is not as long as the system says.
#define HM_CHANGED 9

// Digests. There is no key.
#define HM_MODE_HASH 0

// Digests under a secret key of 32 bytes: a message authentication code.
#define HM_MODE_KEYED 1

// Keys for one purpose. The key is a text that names the purpose, such as `example.com 2026-11-20 session tokens v1`, and the input is
// the key material.
#define HM_MODE_DERIVE 2

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// What kind of error it is; `HM_OK` for NULL.
hm_code hm_error_code(const hm_error *error);

// What happened, in English, for people: a string that is there until the error is freed. "no error" for NULL.
const char *hm_error_text(const hm_error *error);

// The offset of the byte that the error is about, or `UINT64_MAX`.
uint64_t hm_error_place(const hm_error *error);

// The operating system's number for it (`errno`), or 0.
int32_t hm_error_system(const hm_error *error);

// Frees an error, or nothing.
void hm_error_free(hm_error *error);

// Frees bytes that a function gave, or nothing.
void hm_bytes_free(hm_bytes *bytes);

// Starts `threads` threads; 0 stands for as many as this process may have at a time.
HM_MUST_USE hm_error *hm_pool_create(uint32_t threads, hm_pool **pool);

// Frees a pool, whose threads end with the last that was made with it; or nothing.
void hm_pool_free(hm_pool *pool);

// Fills `out` with the output for an input: the first 32 bytes are the digest. `pool` may be NULL: then this thread does the work.
HM_MUST_USE
hm_error *hm_hash(hm_function function,
                  hm_span input,
                  const hm_pool *pool,
                  hm_room out);

// The digests of many inputs, side by side in the lanes of the processor, and on the threads of `pool` unless it is NULL. `out` has
// room for 32 bytes for each input, in their order.
HM_MUST_USE
hm_error *hm_hash_many(hm_function function,
                       hm_spans inputs,
                       const hm_pool *pool,
                       hm_room out);

// A hasher that has seen nothing yet.
HM_MUST_USE hm_error *hm_hasher_create(hm_function function, hm_hasher **hasher);

// Takes the next piece, with the help of `pool` unless it is NULL.
HM_MUST_USE hm_error *hm_hasher_update(hm_hasher *hasher, hm_span input, const hm_pool *pool);

// Fills `out` with the output for what came so far, from its byte `seek` on. More may come afterwards.
HM_MUST_USE hm_error *hm_hasher_finalize(const hm_hasher *hasher, uint64_t seek, hm_room out);

// Forgets what came so far.
HM_MUST_USE hm_error *hm_hasher_reset(hm_hasher *hasher);

// Another hasher that has seen the same.
HM_MUST_USE hm_error *hm_hasher_clone(const hm_hasher *hasher, hm_hasher **copy);

// Frees a hasher and wipes what it knows of a key; or nothing.
void hm_hasher_free(hm_hasher *hasher);

// Makes ready. `options` may be NULL.
HM_MUST_USE hm_error *hm_files_create(hm_function function, const hm_file_options *options, hm_files **files);

// The digest of the file at a path, of any bytes that the system takes.
HM_MUST_USE hm_error *hm_files_hash(const hm_files *files, hm_span path, hm_file_digest *digest);

// The digests of many files. What goes wrong with one of them stands in its place.
HM_MUST_USE hm_error *hm_files_hash_many(const hm_files *files, hm_spans paths, hm_file_digests **digests);

// Frees a list, with its errors; or nothing.
void hm_file_digests_free(hm_file_digests *digests);

// Frees what hashes files, or nothing.
void hm_files_free(hm_files *files);

// A policy that somebody recommends, by its name: "owasp-19m", "rfc9106-second", "libsodium-interactive" and others.
HM_MUST_USE hm_error *hm_policy_preset(hm_span name, hm_policy *policy);

// Makes ready. `options` may be NULL, and so may `pool`: then whoever calls does the work alone.
HM_MUST_USE
hm_error *hm_passwords_create(const hm_policy *policy,
                              const hm_password_options *options,
                              const hm_pool *pool,
                              hm_passwords **passwords);

// The string to store for a new password. A `salt` without bytes stands for random ones of the system, as many as the policy says.
HM_MUST_USE
hm_error *hm_passwords_hash(const hm_passwords *passwords,
                            hm_span password,
                            hm_span salt,
                            hm_bytes **stored);

// NULL if a password is that of a stored string; `HM_MISMATCH` if it is another one. Then `upgrade`, unless it is NULL, says whether a
// new hash should be stored, because the policy is stricter than what is.
HM_MUST_USE
hm_error *hm_passwords_verify(const hm_passwords *passwords,
                              hm_span password,
                              hm_span stored,
                              bool *upgrade);

// Takes the time that a check takes and never gives NULL: for a name that nobody has.
HM_MUST_USE hm_error *hm_passwords_verify_dummy(const hm_passwords *passwords, hm_span password);

// Many checks side by side: each password beside the string that is stored for it.
HM_MUST_USE
hm_error *hm_passwords_verify_many(const hm_passwords *passwords,
                                   hm_spans given_passwords,
                                   hm_spans stored,
                                   hm_verdicts **verdicts);

// Frees a list, with its errors; or nothing.
void hm_verdicts_free(hm_verdicts *verdicts);

// Frees what checks passwords, or nothing.
void hm_passwords_free(hm_passwords *passwords);

// Overwrites a password of the caller's with zeros. No compiler leaves that out.
HM_MUST_USE hm_error *hm_wipe(hm_room room);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

// A string of C without the zero at its end. NULL has no bytes.
static inline hm_span hm_str(const char *string) {
  hm_span span = {(const uint8_t *)string, string ? strlen(string) : 0};
  return span;
}

// Any bytes.
static inline hm_span hm_span_of(const void *data, size_t len) {
  hm_span span = {(const uint8_t *)data, len};
  return span;
}

// What a function gave as what another one takes, while it is not freed.
static inline hm_span hm_view(const hm_bytes *bytes) {
  hm_span span = {bytes ? bytes->data : NULL, bytes ? bytes->len : 0};
  return span;
}

static inline hm_spans hm_spans_of(const hm_span *items, size_t len) {
  hm_spans spans = {items, len};
  return spans;
}

static inline hm_room hm_room_of(void *data, size_t len) {
  hm_room room = {(uint8_t *)data, len};
  return room;
}

// BLAKE3 without a key; with a key of 32 bytes; as a derivation of keys, in a context.
static inline hm_function hm_blake3(void) {
  hm_function function = {HM_MODE_HASH, {NULL, 0}};
  return function;
}

static inline hm_function hm_blake3_keyed(hm_span key) {
  hm_function function = {HM_MODE_KEYED, key};
  return function;
}

static inline hm_function hm_blake3_derive(hm_span context) {
  hm_function function = {HM_MODE_DERIVE, context};
  return function;
}

#endif // HASHMILL_H
