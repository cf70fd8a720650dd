// Hashmill for C: BLAKE3, passwords, documents that several people edit. Generated from bindings/c/src/hashmill by bindings/c/header.
//
// Errors: a function that can fail returns NULL on success, and otherwise an error, which hm_error_free frees. Results are
// written through its last pointers; after a failure they are NULL or zeros. There is no global state, and no last error.
//
// Memory: each result is freed by the function of its type whose name ends in _free, which accepts NULL, too. The order and the
// thread do not matter: no object needs another one to be alive. Memory behind the pointers of a list is valid until the list is
// freed.
//
// Threads: functions start threads only for a pool, for hm_files, and for documents whose options request them
// (hm_doc_limits.parallel_from); the latter stay for other documents. Functions that take a handle as a pointer to const may run
// on any number of threads at the same time; all others need exclusive access to it.
//
// Pointers: NULL for a required argument, and NULL with a length, are errors. A function keeps no pointer of the caller.
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


// Version of this header: the first number. It changes if programs must be changed; before 1.0.0 the second number does.
#define HM_VERSION_MAJOR 0

// The second number of the version.
#define HM_VERSION_MINOR 1

// The third number of the version.
#define HM_VERSION_PATCH 0

// The version as one increasing number: `0x000100` for 0.1.0.
#define HM_VERSION (((HM_VERSION_MAJOR << 16) | (HM_VERSION_MINOR << 8)) | HM_VERSION_PATCH)

// A document with its whole history, and the edits since the last commit. Functions that take it as a pointer to const see those edits,
// too; most others commit them first, without a message.
typedef struct hm_doc hm_doc;

// An error. A function returns NULL without one; otherwise free the error with `hm_error_free`.
typedef struct hm_error hm_error;

// A hasher of files. Several threads may use it at the same time.
typedef struct hm_files hm_files;

// A hasher for input in pieces.
typedef struct hm_hasher hm_hasher;

// The id of an object in a document; for the root it is NULL. An id in a list is freed with the list; a single id that a
// function returned is freed by `hm_obj_id_free`. It is valid for all documents that have the object.
typedef struct hm_obj_id hm_obj_id;

// Owner of the memory that a list points to.
typedef struct hm_owner hm_owner;

// Makes and checks hashes of passwords. It reuses the wiped memory of earlier hashes. Several threads may use it at the same
// time.
typedef struct hm_passwords hm_passwords;

// A pool of threads that work for its callers and sleep between calls. Several threads may use a pool at the same time. It may
// be freed before the objects that were made with it. A child of `fork` has no such threads: its callers do the work.
typedef struct hm_pool hm_pool;

// A request to stop. Any number of threads may use it at the same time.
typedef struct hm_stop hm_stop;

// The state of a sync with a peer, for one document: one for each connection.
typedef struct hm_sync_state hm_sync_state;

// The kind of an error, for programs. Later versions may add more.
typedef uint32_t hm_code;

// Bytes that a function returned: `hm_bytes_free` frees them. A zero that is not counted follows the last byte, so a text
// without zeros is a C string.
typedef struct {
  // The first byte.
  const uint8_t *data;
  // Their number.
  size_t len;
  // Memory of the library.
  hm_owner *owner;
} hm_bytes;

// How BLAKE3 is used.
typedef uint32_t hm_mode;

// Bytes of the caller, which are read only during a call: a text in UTF-8, which needs no zero at its end, or any bytes. With
// `len` 0, `data` may be anything, including NULL. `hm_str` makes one from a C string.
typedef struct {
  // The first byte.
  const uint8_t *data;
  // Their number.
  size_t len;
} hm_span;

// BLAKE3 in one of its modes.
typedef struct {
  // Which.
  hm_mode mode;
  // The key for the mode.
  hm_span key;
} hm_function;

// A buffer of the caller that is filled with bytes.
typedef struct {
  // The first byte.
  uint8_t *data;
  // The number of bytes.
  size_t len;
} hm_room;

// Several pieces of bytes.
typedef struct {
  // The first.
  const hm_span *items;
  // Their number.
  size_t len;
} hm_spans;

// How files are read. All zeros are good defaults.
typedef struct {
  // Maximum number of threads; 0 for one per processor.
  uint32_t threads;
  // Not 0: files may be mapped. That is faster for some files. It installs a handler for SIGBUS, which passes on foreign
  // signals.
  uint32_t map;
  // Not 0: the rest of a file with unreadable places is read, and the error has its size.
  uint32_t keep_going;
  // Reserved for later versions: 0.
  uint32_t reserved[5];
} hm_file_options;

// The digest of a file.
typedef struct {
  // The digest.
  uint8_t bytes[32];
  // The number of bytes hashed.
  uint64_t len;
  // In a list: the reason why there is no digest, or NULL. It is freed with the list.
  const hm_error *error;
} hm_file_digest;

// The digests of several files, in the order of their paths.
typedef struct {
  // The first.
  const hm_file_digest *items;
  // Their number.
  size_t len;
  // Memory of the library.
  hm_owner *owner;
} hm_file_digests;

// The costs and lengths of new hashes.
typedef struct {
  // Variant: 0 for Argon2d, 1 for Argon2i, 2 for Argon2id.
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

// How passwords are checked. All zeros are good defaults.
typedef struct {
  // A key that is stored apart from the hashes and mixed into all of them ("pepper"). The library's copy is wiped.
  hm_span secret;
  // Maximum memory of all threads together, in KiB; 0 for no bound. Calls wait for their turn, each on its own thread, without
  // a pool.
  uint64_t memory_budget_kib;
  // Maximum memory that a stored string may need, in KiB. 0, as for the next three fields, means eight times the value of the
  // policy.
  uint32_t most_memory_kib;
  // Passes.
  uint32_t most_passes;
  // Lanes.
  uint32_t most_lanes;
  // Not 0: strings of some other implementations are read, too.
  uint32_t lenient;
  // Memory times passes.
  uint64_t most_work_kib;
  // Reserved for later versions: 0.
  uint64_t reserved[4];
} hm_password_options;

// The result of one of many logins.
typedef struct {
  // NULL if the password matches. It is freed with the list.
  const hm_error *error;
  // Whether a new hash should be stored.
  bool upgrade;
} hm_verdict;

// The results of many logins, in their order.
typedef struct {
  // The first.
  const hm_verdict *items;
  // Their number.
  size_t len;
  // Memory of the library.
  hm_owner *owner;
} hm_verdicts;

// An object on a path through a document, and the place of the next one in it.
typedef struct {
  // The object.
  const hm_obj_id *obj;
  // The key there, if it is a map.
  hm_span key;
  // The index there, if it is a list or text.
  size_t index;
  // Whether the index is used.
  bool in_list;
} hm_step;

// A path through a document, from the root on.
typedef struct {
  // The first step.
  const hm_step *items;
  // Their number.
  size_t len;
  // Memory of the library.
  hm_owner *owner;
} hm_path;

// The kind of a value.
typedef uint32_t hm_kind;

// A value. `kind` selects the field that has it.
typedef struct {
  // The kind.
  hm_kind kind;
  // The number of an unknown type.
  uint32_t type_code;
  // A number.
  int64_t integer;
  // A number that is not negative.
  uint64_t natural;
  // A floating-point number.
  double real;
  // Bytes.
  hm_span bytes;
} hm_value;

// A value and its place.
typedef struct {
  // The key, in a map.
  hm_span key;
  // The index, in a list.
  size_t index;
  // The value.
  hm_value value;
  // The id of the value: of an object itself, or of the operation that put the value there.
  const hm_obj_id *id;
  // Whether concurrent values were put there, and lost.
  bool conflict;
} hm_item;

// Values.
typedef struct {
  // The first.
  const hm_item *items;
  // Their number.
  size_t len;
  // Memory of the library.
  hm_owner *owner;
} hm_items;

// The unit of indexes into texts.
typedef uint32_t hm_text_encoding;

// Limits of the resources that input may request, and of the size of a document. 0 means a default above any known document; set
// lower values for untrusted input.
typedef struct {
  // Bytes that one chunk may inflate to.
  uint64_t inflated_bytes;
  // Operations in one change.
  uint64_t operations;
  // Operations of a document.
  uint64_t total;
  // Changes of a document, and changes that wait for their dependencies.
  uint64_t changes;
  // Steps of work that one call may take beyond those that its bytes pay for.
  uint64_t steps;
  // Minimum length in bytes of a chunk that several threads read. The library starts these threads on first use and keeps
  // them. 0: only the calling thread.
  uint64_t parallel_from;
  // Reserved for later versions: 0.
  uint64_t reserved[4];
} hm_doc_limits;

// How a document is created or read. All zeros are good defaults.
typedef struct {
  // The actor that writes: any unique bytes. No bytes mean random ones.
  hm_span actor;
  // The unit of indexes into texts.
  hm_text_encoding text_encoding;
  // Not 0: if the end of a file cannot be read, the rest is kept.
  uint32_t keep_partial;
  // Limits.
  hm_doc_limits limits;
  // Reserved for later versions: 0.
  uint64_t reserved[4];
} hm_doc_options;

// The hash of a change.
typedef struct {
  // SHA-256.
  uint8_t bytes[32];
} hm_change_hash;

// Hashes of changes, such as the heads of a document. Either a function returned them, and `hm_hashes_free` frees them, or they
// are the caller's own, with an `owner` that is NULL.
typedef struct {
  // The first.
  const hm_change_hash *items;
  // Their number.
  size_t len;
  // Memory of the library, or NULL.
  hm_owner *owner;
} hm_hashes;

// Several values of the caller.
typedef struct {
  // The first.
  const hm_value *items;
  // Their number.
  size_t len;
} hm_values;

// Whether text typed at the edge of a mark belongs to it.
typedef uint32_t hm_expand;

// A marked range of a text.
typedef struct {
  // The first unit.
  size_t start;
  // The end, after the last unit.
  size_t end;
  // The name, such as `bold`.
  hm_span name;
  // The value, such as `true` or a link.
  hm_value value;
} hm_mark;

// Marks.
typedef struct {
  // The first.
  const hm_mark *items;
  // Their number.
  size_t len;
  // Memory of the library.
  hm_owner *owner;
} hm_marks;

// The direction of a cursor when its element is deleted.
typedef uint32_t hm_move;

// A part of a rich text: text under the same marks, or a block.
typedef struct {
  // The text. Elements that are neither text nor a block appear as U+FFFC. For a block it is U+FFFC alone.
  hm_span text;
  // The marks on the whole part, with empty ranges.
  const hm_mark *marks;
  // Their number.
  size_t marks_len;
  // The block: a map that describes it; NULL for text. `hm_obj_path` ends in its index.
  const hm_obj_id *block;
} hm_part;

// The parts of a rich text, in their order.
typedef struct {
  // The first.
  const hm_part *items;
  // Their number.
  size_t len;
  // Memory of the library.
  hm_owner *owner;
} hm_parts;

// A change.
typedef struct {
  // Its hash.
  hm_change_hash hash;
  // Its actor.
  hm_span actor;
  // Its number among its actor's changes, from 1.
  uint64_t seq;
  // The counter of its first operation.
  uint64_t start_op;
  // The counter of its last operation.
  uint64_t max_op;
  // Its time, in seconds since 1970, or 0.
  int64_t time;
  // Its message, which may have no bytes.
  hm_span message;
  // The changes that it depends on.
  const hm_change_hash *deps;
  // Their number.
  size_t deps_len;
  // The encoded change, for `hm_doc_apply_changes`.
  hm_span bytes;
  // The author of the actor, in its first change and if it was passed to `hm_doc_commit_by`; otherwise no bytes.
  hm_span author;
  // Extra bytes of its writer, including the author, or no bytes.
  hm_span extra;
  // The number of its operations.
  size_t operations;
} hm_change;

// Changes, each after its dependencies.
typedef struct {
  // The first.
  const hm_change *items;
  // Their number.
  size_t len;
  // Memory of the library.
  hm_owner *owner;
} hm_changes;

// The kind of a patch.
typedef uint32_t hm_patch_kind;

// A step from one point of a document's history to another.
typedef struct {
  // Its kind.
  hm_patch_kind kind;
  // The object.
  const hm_obj_id *obj;
  // A key, if the object is a map.
  hm_span key;
  // An index, if it is a list or text.
  size_t index;
  // Their number.
  size_t length;
  // By how much.
  int64_t by;
  // Characters.
  hm_span text;
  // Values.
  const hm_item *items;
  // Their number.
  size_t items_len;
  // Marks.
  const hm_mark *marks;
  // Their number.
  size_t marks_len;
} hm_patch;

// Patches, in the order in which they must be applied.
typedef struct {
  // The first.
  const hm_patch *items;
  // Their number.
  size_t len;
  // Memory of the library.
  hm_owner *owner;
} hm_patches;

// The changes that a peer has since the last sync.
typedef struct {
  // The heads that both sides had then.
  const hm_change_hash *last_sync;
  // Their number.
  size_t last_sync_len;
  // The changes after them, as a Bloom filter.
  hm_span bloom;
} hm_sync_have;

// The contents of a message.
typedef struct {
  // The heads of the sender.
  const hm_change_hash *heads;
  // Their number.
  size_t heads_len;
  // Hashes of changes that the sender requests.
  const hm_change_hash *needs;
  // Their number.
  size_t needs_len;
  // Summaries of the sender's changes.
  const hm_sync_have *haves;
  // Their number.
  size_t haves_len;
  // Changes for the receiver, as consecutive chunks for `hm_doc_load_incremental`.
  const hm_span *changes;
  // Their number.
  size_t changes_len;
  // Whether the sender accepts no changes.
  bool read_only;
  // Whether the receiver must forget which changes it has sent.
  bool reset;
  // Memory of the library.
  hm_owner *owner;
} hm_sync_message;

// No error.
#define HM_OK 0

// A mistake of the caller: a pointer that is NULL, an invalid number, a length that does not fit.
#define HM_ARGUMENT 1

// A mistake of the caller: a text that is not UTF-8. `hm_error_place` is its first invalid byte.
#define HM_NOT_UTF8 2

// A bug of this library. The handles of the call can only be freed.
#define HM_INTERNAL 3

// Out of memory.
#define HM_MEMORY 4

// An error of the operating system: `hm_error_system` is its number.
#define HM_SYSTEM 5

// The password does not match.
#define HM_MISMATCH 6

// Malformed bytes or text. `hm_error_place` is the place, if it is known.
#define HM_MALFORMED 7

// The request exceeds a limit.
#define HM_LIMIT 8

// A file changed while it was read, or its length differs from the one that the system reports.
#define HM_CHANGED 9

// The document has no such object, change, cursor or counter.
#define HM_UNKNOWN 10

// An object of this kind does not support the call, or holds no such value.
#define HM_WRONG_TYPE 11

// An index past the end, or a range that ends before it starts.
#define HM_RANGE 12

// Changes that contradict the history they build on.
#define HM_CONTRADICTION 13

// Changes that others depend on are missing.
#define HM_MISSING 14

// Another thread asked the call to stop.
#define HM_STOPPED 15

// Plain digests, without a key.
#define HM_MODE_HASH 0

// Digests with a secret key of 32 bytes: a message authentication code.
#define HM_MODE_KEYED 1

// Key derivation for one purpose. The key is a text that names the purpose, such as `example.com 2026-11-20 session tokens v1`,
// and the input is the key material.
#define HM_MODE_DERIVE 2

// Null.
#define HM_KIND_NULL 0

// `integer` is 0 or 1.
#define HM_KIND_BOOLEAN 1

// `integer`.
#define HM_KIND_INT 2

// `natural`.
#define HM_KIND_UINT 3

// `real`.
#define HM_KIND_F64 4

// `bytes`, in UTF-8: a string that is replaced as a whole. Texts for several people are `HM_KIND_TEXT`.
#define HM_KIND_STR 5

// `bytes`.
#define HM_KIND_BYTES 6

// `integer`: a number that adds up concurrent increments.
#define HM_KIND_COUNTER 7

// `integer`: milliseconds since 1970.
#define HM_KIND_TIMESTAMP 8

// `bytes` of a type that is newer than this library; `type_code` is its number.
#define HM_KIND_UNKNOWN 9

// An object: keys with values.
#define HM_KIND_MAP 16

// An object like a map.
#define HM_KIND_TABLE 17

// An object: a sequence of values.
#define HM_KIND_LIST 18

// An object: a sequence of characters, with marks.
#define HM_KIND_TEXT 19

// Unicode scalar values.
#define HM_TEXT_CODE_POINTS 0

// Bytes of UTF-8.
#define HM_TEXT_UTF8 1

// Units of UTF-16, as in JavaScript.
#define HM_TEXT_UTF16 2

// Grapheme clusters, which users see as characters.
#define HM_TEXT_GRAPHEMES 3

// At neither edge, as for links.
#define HM_EXPAND_NONE 0

// At the start.
#define HM_EXPAND_BEFORE 1

// At the end, as for bold.
#define HM_EXPAND_AFTER 2

// At both.
#define HM_EXPAND_BOTH 3

// To the next visible element, or the end.
#define HM_MOVE_AFTER 0

// To the previous visible element, or the start.
#define HM_MOVE_BEFORE 1

// The key `key` of a map now has the value in `items`.
#define HM_PATCH_PUT_MAP 0

// The index `index` of a list now has the value in `items`.
#define HM_PATCH_PUT_LIST 1

// The values in `items` were inserted before `index` of a list, or a block before `index` of a text.
#define HM_PATCH_INSERT 2

// `text` was inserted before `index` of a text, with `marks`, whose ranges are empty.
#define HM_PATCH_SPLICE_TEXT 3

// The counter at `key` or `index` was incremented by `by`.
#define HM_PATCH_INCREMENT 4

// The value at `key` or `index` stays, but now has conflicting values.
#define HM_PATCH_CONFLICT 5

// The key `key` of a map was deleted.
#define HM_PATCH_DELETE_MAP 6

// From `index` on, `length` elements or units were deleted.
#define HM_PATCH_DELETE_LIST 7

// A text has the marks in `marks`; null means that a mark was removed.
#define HM_PATCH_MARK 8

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Version of the library at run time, in the form of `HM_VERSION`, which is the version of the header at compile time.
uint32_t hm_version(void);

// The kind of an error; `HM_OK` for NULL.
hm_code hm_error_code(const hm_error *error);

// The message, in English, for people: a string that is valid until the error is freed. "no error" for NULL.
const char *hm_error_text(const hm_error *error);

// The offset of the byte that caused the error, or `UINT64_MAX`.
uint64_t hm_error_place(const hm_error *error);

// The operating system's error number (`errno`), or 0.
int32_t hm_error_system(const hm_error *error);

// Frees an error, or NULL.
void hm_error_free(hm_error *error);

// Frees bytes that a function returned, or NULL.
void hm_bytes_free(hm_bytes *bytes);

// Starts `threads` threads, at most 4096; 0 means the number of processors that this process may use.
HM_MUST_USE hm_error *hm_pool_create(uint32_t threads, hm_pool **pool);

// Frees a pool, or NULL. Its threads end when the last object that was made with it is freed.
void hm_pool_free(hm_pool *pool);

// Fills `out` with the output for an input: the first 32 bytes are the digest. `pool` may be NULL: then this thread does the
// work. Input and output may overlap.
HM_MUST_USE
hm_error *hm_hash(hm_function function,
                  hm_span input,
                  const hm_pool *pool,
                  hm_room out);

// The digests of many inputs, side by side in the lanes of the processor, and on the threads of `pool` unless it is NULL. `out`
// has 32 bytes for each input, in their order; inputs may overlap it.
HM_MUST_USE
hm_error *hm_hash_many(hm_function function,
                       hm_spans inputs,
                       const hm_pool *pool,
                       hm_room out);

// Creates an empty hasher.
HM_MUST_USE hm_error *hm_hasher_create(hm_function function, hm_hasher **hasher);

// Adds the next piece, with the help of `pool` unless it is NULL.
HM_MUST_USE hm_error *hm_hasher_update(hm_hasher *hasher, hm_span input, const hm_pool *pool);

// Fills `out` with the output for the input so far, from byte `seek` on. More input may follow.
HM_MUST_USE hm_error *hm_hasher_finalize(const hm_hasher *hasher, uint64_t seek, hm_room out);

// Discards the input so far.
HM_MUST_USE hm_error *hm_hasher_reset(hm_hasher *hasher);

// Another hasher with the same state.
HM_MUST_USE hm_error *hm_hasher_clone(const hm_hasher *hasher, hm_hasher **copy);

// Wipes and frees a hasher, or NULL.
void hm_hasher_free(hm_hasher *hasher);

// Creates a hasher of files. `options` may be NULL.
HM_MUST_USE hm_error *hm_files_create(hm_function function, const hm_file_options *options, hm_files **files);

// The digest of the file at a path, which may have any bytes that the system accepts.
HM_MUST_USE hm_error *hm_files_hash(const hm_files *files, hm_span path, hm_file_digest *digest);

// The digests of many files. The error of a file is in its place of the list.
HM_MUST_USE hm_error *hm_files_hash_many(const hm_files *files, hm_spans paths, hm_file_digests **digests);

// Frees a list with its errors, or NULL.
void hm_file_digests_free(hm_file_digests *digests);

// Frees a hasher of files, or NULL.
void hm_files_free(hm_files *files);

// A recommended policy by its name: "owasp-19m", "rfc9106-second", "libsodium-interactive" and others.
HM_MUST_USE hm_error *hm_policy_preset(hm_span name, hm_policy *policy);

// Creates the object. `options` may be NULL. `pool` may be NULL: then the calling thread does the work alone.
HM_MUST_USE
hm_error *hm_passwords_create(const hm_policy *policy,
                              const hm_password_options *options,
                              const hm_pool *pool,
                              hm_passwords **passwords);

// The string to store for a new password. An empty `salt` means random bytes of the system, with the length of the policy.
HM_MUST_USE
hm_error *hm_passwords_hash(const hm_passwords *passwords,
                            hm_span password,
                            hm_span salt,
                            hm_bytes **stored);

// Creates a request that is not set.
HM_MUST_USE hm_error *hm_stop_create(hm_stop **stop);

// Asks the calls that use this request to end, from another thread or a signal handler. They end after a quarter of a pass at
// most, with `HM_STOPPED`. So do later calls. NULL does nothing.
void hm_stop_set(const hm_stop *stop);

// Withdraws the request.
void hm_stop_clear(const hm_stop *stop);

// Frees a request that no call uses any more, or NULL.
void hm_stop_free(hm_stop *stop);

// As `hm_passwords_hash`, until `stop` is set.
HM_MUST_USE
hm_error *hm_passwords_hash_until(const hm_passwords *passwords,
                                  hm_span password,
                                  hm_span salt,
                                  const hm_stop *stop,
                                  hm_bytes **stored);

// As `hm_passwords_verify`, until `stop` is set.
HM_MUST_USE
hm_error *hm_passwords_verify_until(const hm_passwords *passwords,
                                    hm_span password,
                                    hm_span stored,
                                    const hm_stop *stop,
                                    bool *upgrade);

// NULL if a password matches a stored string; `HM_MISMATCH` if it does not. After a match `upgrade`, unless it is NULL, is true
// if a new hash should be stored because the policy is stricter than the stored costs.
HM_MUST_USE
hm_error *hm_passwords_verify(const hm_passwords *passwords,
                              hm_span password,
                              hm_span stored,
                              bool *upgrade);

// Takes the time of a check and never returns NULL: for a user name that does not exist.
HM_MUST_USE hm_error *hm_passwords_verify_dummy(const hm_passwords *passwords, hm_span password);

// Many checks side by side: each password with its stored string.
HM_MUST_USE
hm_error *hm_passwords_verify_many(const hm_passwords *passwords,
                                   hm_spans given_passwords,
                                   hm_spans stored,
                                   hm_verdicts **verdicts);

// Frees a list with its errors, or NULL.
void hm_verdicts_free(hm_verdicts *verdicts);

// Frees the object, or NULL.
void hm_passwords_free(hm_passwords *passwords);

// Overwrites a password of the caller with zeros. The compiler cannot optimize this away.
HM_MUST_USE hm_error *hm_wipe(hm_room room);

// Frees a path, or NULL.
void hm_path_free(hm_path *path);

// Frees a list with its ids, or NULL.
void hm_items_free(hm_items *items);

// Reads an id as `hm_obj_id_text` writes it: `_root` or `<counter>@<actor in hex>`.
HM_MUST_USE hm_error *hm_obj_id_parse(hm_span text, hm_obj_id **id);

// An id as a text.
HM_MUST_USE hm_error *hm_obj_id_text(const hm_obj_id *id, hm_bytes **text);

// A copy of an id, for instance of one in a list.
HM_MUST_USE hm_error *hm_obj_id_clone(const hm_obj_id *id, hm_obj_id **copy);

// Whether both are the same object; NULL is the root.
bool hm_obj_id_equal(const hm_obj_id *one, const hm_obj_id *other);

// Frees an id, or NULL.
void hm_obj_id_free(hm_obj_id *id);

// An empty document. `options` may be NULL.
HM_MUST_USE hm_error *hm_doc_create(const hm_doc_options *options, hm_doc **doc);

// Reads a file: a document, changes, or any sequence of them. `options` may be NULL.
HM_MUST_USE hm_error *hm_doc_load(hm_span bytes, const hm_doc_options *options, hm_doc **doc);

// Applies the valid chunks at the beginning of a stream, such as the output of `hm_doc_save_incremental`. The rest after the
// first bad chunk is ignored, because streams may be truncated anywhere. `operations`, unless it is NULL, is their number.
HM_MUST_USE
hm_error *hm_doc_load_incremental(hm_doc *doc,
                                  hm_span bytes,
                                  size_t *operations);

// The file of a document.
HM_MUST_USE hm_error *hm_doc_save(hm_doc *doc, hm_bytes **bytes);

// The changes since the last save, to be appended to it.
HM_MUST_USE hm_error *hm_doc_save_incremental(hm_doc *doc, hm_bytes **bytes);

// The changes after `heads`, one after the other; unknown hashes are ignored.
HM_MUST_USE hm_error *hm_doc_save_after(hm_doc *doc, const hm_hashes *heads, hm_bytes **bytes);

// The file of a document without compression: larger, and faster to write.
HM_MUST_USE hm_error *hm_doc_save_nocompress(hm_doc *doc, hm_bytes **bytes);

// A copy of the document with another actor, in its current state or at `heads`; both share memory until one of them changes.
HM_MUST_USE
hm_error *hm_doc_fork(hm_doc *doc,
                      const hm_hashes *heads,
                      hm_doc **fork);

// Merges the changes of another document into this one. Pending edits of the other one are committed. Both may be the same
// document.
HM_MUST_USE
hm_error *hm_doc_merge(hm_doc *doc,
                       hm_doc *other);

// The actor that writes.
HM_MUST_USE hm_error *hm_doc_get_actor(const hm_doc *doc, hm_bytes **actor);

// The author of an actor, as passed to `hm_doc_commit_by`; NULL if there is none.
HM_MUST_USE hm_error *hm_doc_get_author(const hm_doc *doc, hm_span actor, hm_bytes **author);

// Sets the actor of later changes.
HM_MUST_USE hm_error *hm_doc_set_actor(hm_doc *doc, hm_span actor);

// Commits the edits since the last change as a new one, with a message, unless that is empty, and a time in seconds since 1970,
// or 0. `made`, unless it is NULL, is true if there was any edit. `hash`, unless it is NULL, is the hash of the change, or zeros
// without one.
HM_MUST_USE
hm_error *hm_doc_commit(hm_doc *doc,
                        hm_span message,
                        int64_t time,
                        bool *made,
                        hm_change_hash *hash);

// As `hm_doc_commit`, with an author, which may be any bytes: one person may write as several actors. Only an actor's first
// change records the author.
HM_MUST_USE
hm_error *hm_doc_commit_by(hm_doc *doc,
                           hm_span author,
                           hm_span message,
                           int64_t time,
                           bool *made,
                           hm_change_hash *hash);

// Makes a change without edits, which depends on all heads.
HM_MUST_USE hm_error *hm_doc_empty_change(hm_doc *doc, hm_span message, int64_t time);

// Rolls back the edits since the last commit. `operations`, unless it is NULL, is their number.
HM_MUST_USE hm_error *hm_doc_rollback(hm_doc *doc, size_t *operations);

// The number of operations since the last commit.
HM_MUST_USE hm_error *hm_doc_pending_ops(const hm_doc *doc, size_t *operations);

// Reads and writes the document at `heads` until `hm_doc_integrate`: these edits are concurrent to all changes after `heads`.
HM_MUST_USE
hm_error *hm_doc_isolate(hm_doc *doc,
                         const hm_hashes *heads);

// Returns to the whole document.
HM_MUST_USE hm_error *hm_doc_integrate(hm_doc *doc);

// The heads: changes without successors, in ascending order.
HM_MUST_USE hm_error *hm_doc_get_heads(hm_doc *doc, hm_hashes **heads);

// The hashes of missing changes: among `heads`, which may be NULL, and among the dependencies of waiting changes.
HM_MUST_USE hm_error *hm_doc_get_missing_deps(hm_doc *doc, const hm_hashes *heads, hm_hashes **missing);

// Applies changes from other replicas, in any order; those with missing dependencies wait for them. If one breaks a rule, none
// is applied.
HM_MUST_USE
hm_error *hm_doc_apply_changes(hm_doc *doc,
                               hm_spans changes);

// Frees hashes, or NULL.
void hm_hashes_free(hm_hashes *hashes);

// Frees a document, or NULL.
void hm_doc_free(hm_doc *doc);

// Puts a value at a key of a map. `obj` is an object of the document, or NULL for its root, in all functions.
HM_MUST_USE hm_error *hm_map_put(hm_doc *doc, const hm_obj_id *obj, hm_span key, hm_value value);

// Puts a new object at a key of a map. `id` may be NULL, here and below.
HM_MUST_USE hm_error *hm_map_put_object(hm_doc *doc, const hm_obj_id *obj, hm_span key, hm_kind kind, hm_obj_id **id);

// Adds to the counter at a key of a map.
HM_MUST_USE hm_error *hm_map_increment(hm_doc *doc, const hm_obj_id *obj, hm_span key, int64_t by);

// Deletes a key of a map. A key without a value is not an error.
HM_MUST_USE hm_error *hm_map_delete(hm_doc *doc, const hm_obj_id *obj, hm_span key);

// Inserts a value before an index of a list, or replaces the value at the index.
HM_MUST_USE hm_error *hm_list_put(hm_doc *doc, const hm_obj_id *obj, size_t index, bool insert, hm_value value);

// Inserts a new object before an index of a list, or replaces the value at the index.
HM_MUST_USE
hm_error *hm_list_put_object(hm_doc *doc,
                             const hm_obj_id *obj,
                             size_t index,
                             bool insert,
                             hm_kind kind,
                             hm_obj_id **id);

// Adds to the counter at an index of a list.
HM_MUST_USE hm_error *hm_list_increment(hm_doc *doc, const hm_obj_id *obj, size_t index, int64_t by);

// Deletes an element of a list.
HM_MUST_USE hm_error *hm_list_delete(hm_doc *doc, const hm_obj_id *obj, size_t index);

// Deletes `count` elements of a list from `index` on, or before it if `count` is negative, and inserts values there. In a text,
// `count` is in units and only strings can be inserted.
HM_MUST_USE
hm_error *hm_splice(hm_doc *doc,
                    const hm_obj_id *obj,
                    size_t index,
                    ptrdiff_t count,
                    hm_values values);

// Deletes `count` units of a text from `index` on, or before it if `count` is negative, and inserts a text there. A deletion
// past the end stops at the end.
HM_MUST_USE
hm_error *hm_splice_text(hm_doc *doc,
                         const hm_obj_id *obj,
                         size_t index,
                         ptrdiff_t count,
                         hm_span text);

// Changes a text to a new one, with few edits.
HM_MUST_USE hm_error *hm_update_text(hm_doc *doc, const hm_obj_id *obj, hm_span text);

// The value at a key of a map, as a list with one entry or none. `heads` selects a point of the history, and NULL the current
// state, in all functions. `conflict` is not set here; use `hm_map_get_all`.
HM_MUST_USE
hm_error *hm_map_get(const hm_doc *doc,
                     const hm_obj_id *obj,
                     hm_span key,
                     const hm_hashes *heads,
                     hm_items **items);

// All visible values at a key of a map, several after a conflict: the last one wins.
HM_MUST_USE
hm_error *hm_map_get_all(const hm_doc *doc,
                         const hm_obj_id *obj,
                         hm_span key,
                         const hm_hashes *heads,
                         hm_items **items);

// The keys of a map from `begin` on and before `end` with their values, in the order of the keys' bytes. An empty `end` means no
// upper bound.
HM_MUST_USE
hm_error *hm_map_range(const hm_doc *doc,
                       const hm_obj_id *obj,
                       hm_span begin,
                       hm_span end,
                       const hm_hashes *heads,
                       hm_items **items);

// The value at an index of a list, as a list with one entry, or none past the end.
HM_MUST_USE
hm_error *hm_list_get(const hm_doc *doc,
                      const hm_obj_id *obj,
                      size_t index,
                      const hm_hashes *heads,
                      hm_items **items);

// All visible values at an index of a list, several after a conflict: the last one wins.
HM_MUST_USE
hm_error *hm_list_get_all(const hm_doc *doc,
                          const hm_obj_id *obj,
                          size_t index,
                          const hm_hashes *heads,
                          hm_items **items);

// The elements of a list from index `begin` on and before index `end` with their values. An `end` past the end means the end.
HM_MUST_USE
hm_error *hm_list_range(const hm_doc *doc,
                        const hm_obj_id *obj,
                        size_t begin,
                        size_t end,
                        const hm_hashes *heads,
                        hm_items **items);

// The number of keys of a map, elements of a list, units of a text.
HM_MUST_USE hm_error *hm_obj_size(const hm_doc *doc, const hm_obj_id *obj, const hm_hashes *heads, size_t *size);

// The kind of an object.
HM_MUST_USE hm_error *hm_obj_kind(const hm_doc *doc, const hm_obj_id *obj, hm_kind *kind);

// The path from the root to an object: empty for the root, and for an object that is no longer reachable.
HM_MUST_USE hm_error *hm_obj_path(const hm_doc *doc, const hm_obj_id *obj, const hm_hashes *heads, hm_path **path);

// A text. Its elements that are not text appear as U+FFFC.
HM_MUST_USE hm_error *hm_text(const hm_doc *doc, const hm_obj_id *obj, const hm_hashes *heads, hm_bytes **text);

// Marks the units of a text from `start` on and before `end`.
HM_MUST_USE
hm_error *hm_mark_create(hm_doc *doc,
                         const hm_obj_id *obj,
                         size_t start,
                         size_t end,
                         hm_expand expand,
                         hm_span name,
                         hm_value value);

// Removes the marks with a name from a range.
HM_MUST_USE
hm_error *hm_mark_clear(hm_doc *doc,
                        const hm_obj_id *obj,
                        size_t start,
                        size_t end,
                        hm_expand expand,
                        hm_span name);

// The marks of a text.
HM_MUST_USE hm_error *hm_get_marks(const hm_doc *doc, const hm_obj_id *obj, const hm_hashes *heads, hm_marks **marks);

// The marks at an index of a text, with empty ranges.
HM_MUST_USE
hm_error *hm_get_marks_at(const hm_doc *doc,
                          const hm_obj_id *obj,
                          size_t index,
                          const hm_hashes *heads,
                          hm_marks **marks);

// Frees marks, or NULL.
void hm_marks_free(hm_marks *marks);

// A cursor at an index of a list or text, as bytes: equal bytes are the same cursor. `HM_CURSOR_START` and `HM_CURSOR_END` are
// indexes, too: they always stay at the start and the end. When its element is deleted, the cursor moves to the next one.
HM_MUST_USE
hm_error *hm_get_cursor(const hm_doc *doc,
                        const hm_obj_id *obj,
                        size_t index,
                        const hm_hashes *heads,
                        hm_bytes **cursor);

// As `hm_get_cursor`, with a choice of direction.
HM_MUST_USE
hm_error *hm_get_cursor_moving(const hm_doc *doc,
                               const hm_obj_id *obj,
                               size_t index,
                               hm_move moving,
                               const hm_hashes *heads,
                               hm_bytes **cursor);

// A cursor as a text.
HM_MUST_USE hm_error *hm_cursor_text(hm_span cursor, hm_bytes **text);

// Reads a cursor as `hm_cursor_text` writes it: "s", "e", or `<counter>@<actor in hex>`, with a minus if it moves before.
HM_MUST_USE
hm_error *hm_cursor_parse(hm_span text,
                          hm_bytes **cursor);

// The index at which a cursor is.
HM_MUST_USE
hm_error *hm_get_cursor_position(const hm_doc *doc,
                                 const hm_obj_id *obj,
                                 hm_span cursor,
                                 const hm_hashes *heads,
                                 size_t *index);

// The parts of a rich text.
HM_MUST_USE hm_error *hm_get_parts(const hm_doc *doc, const hm_obj_id *obj, const hm_hashes *heads, hm_parts **parts);

// Frees parts, or NULL.
void hm_parts_free(hm_parts *parts);

// Inserts a new block, an empty map, before an index of a text.
HM_MUST_USE hm_error *hm_split_block(hm_doc *doc, const hm_obj_id *obj, size_t index, hm_obj_id **id);

// Deletes the block at an index of a text, so that the parts around it are joined.
HM_MUST_USE hm_error *hm_join_block(hm_doc *doc, const hm_obj_id *obj, size_t index);

// Replaces the block at an index of a text with a new block, an empty map.
HM_MUST_USE hm_error *hm_replace_block(hm_doc *doc, const hm_obj_id *obj, size_t index, hm_obj_id **id);

// All changes except `have` and their ancestors; with NULL, all. Unknown hashes are ignored.
HM_MUST_USE hm_error *hm_doc_get_changes(hm_doc *doc, const hm_hashes *have, hm_changes **found);

// The change with a hash, as a list with one entry or none.
HM_MUST_USE hm_error *hm_doc_get_change_by_hash(hm_doc *doc, const hm_change_hash *hash, hm_changes **found);

// The changes that another document has and this one lacks. Both may be the same document.
HM_MUST_USE hm_error *hm_doc_get_changes_added(hm_doc *doc, hm_doc *other, hm_changes **found);

// The last change by the actor of this document, as a list with one entry or none.
HM_MUST_USE hm_error *hm_doc_get_last_local_change(hm_doc *doc, hm_changes **found);

// Decodes changes without a document, each from its own bytes. `limits` may be NULL.
HM_MUST_USE hm_error *hm_changes_decode(hm_spans bytes, const hm_doc_limits *limits, hm_changes **found);

// Frees changes, or NULL.
void hm_changes_free(hm_changes *changes);

// The patches from the document at `before` to the document at `after`, which may be earlier. No heads mean the document before
// its first change.
HM_MUST_USE
hm_error *hm_doc_diff(hm_doc *doc,
                      const hm_hashes *before,
                      const hm_hashes *after,
                      hm_patches **found);

// The patches since the last call, or from the empty document: for programs that show a document.
HM_MUST_USE hm_error *hm_doc_diff_incremental(hm_doc *doc, hm_patches **found);

// The path from the root to the object of patch `index`, after all patches are applied.
HM_MUST_USE hm_error *hm_patches_path(const hm_patches *patches, size_t index, hm_path **path);

// Frees patches, or NULL.
void hm_patches_free(hm_patches *patches);

// Decodes a message for inspection. `hm_receive_sync_message` takes the bytes.
HM_MUST_USE hm_error *hm_sync_message_decode(hm_span bytes, hm_sync_message **message);

// Frees the contents of a message, or NULL.
void hm_sync_message_free(hm_sync_message *message);

// Creates the state for an unknown peer.
HM_MUST_USE hm_error *hm_sync_state_create(hm_sync_state **state);

// Encodes the part of a state that is useful for the next connection.
HM_MUST_USE hm_error *hm_sync_state_encode(const hm_sync_state *state, hm_bytes **bytes);

// Decodes the output of `hm_sync_state_encode`.
HM_MUST_USE hm_error *hm_sync_state_decode(hm_span bytes, hm_sync_state **state);

// The heads of the changes that both have, as far as this side knows.
HM_MUST_USE hm_error *hm_sync_state_shared_heads(const hm_sync_state *state, hm_hashes **heads);

// The heads in the last message to the peer.
HM_MUST_USE hm_error *hm_sync_state_last_sent_heads(const hm_sync_state *state, hm_hashes **heads);

// The heads in the last message of the peer: NULL before its first message.
HM_MUST_USE hm_error *hm_sync_state_their_heads(const hm_sync_state *state, hm_hashes **heads);

// If true, changes of the peer are ignored, and messages tell the peer so.
HM_MUST_USE hm_error *hm_sync_state_set_read_only(hm_sync_state *state, bool read_only);

// Whether the peer accepts no changes.
HM_MUST_USE hm_error *hm_sync_state_is_peer_read_only(const hm_sync_state *state, bool *read_only);

// The next message for the peer. NULL if both have the same heads, or while an answer is awaited.
HM_MUST_USE hm_error *hm_generate_sync_message(hm_doc *doc, hm_sync_state *state, hm_bytes **message);

// Processes a message of the peer. If it cannot be read, document and state stay unchanged. A change that breaks a rule is
// refused alone and not requested again; `refused`, unless it is NULL, has the hashes of such changes.
HM_MUST_USE
hm_error *hm_receive_sync_message(hm_doc *doc,
                                  hm_sync_state *state,
                                  hm_span message,
                                  hm_hashes **refused);

// Frees a state, or NULL.
void hm_sync_state_free(hm_sync_state *state);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

// The index of a cursor that stays at the start.
#define HM_CURSOR_START (SIZE_MAX - 1)
// The index of a cursor that stays at the end.
#define HM_CURSOR_END SIZE_MAX

// A C string without the zero at its end. NULL has no bytes.
static inline hm_span hm_str(const char *string) {
  hm_span span = {(const uint8_t *)string, string ? strlen(string) : 0};
  return span;
}

// Any bytes.
static inline hm_span hm_span_of(const void *data, size_t len) {
  hm_span span = {(const uint8_t *)data, len};
  return span;
}

// The result of a function as an argument of another one, until it is freed.
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

static inline hm_values hm_values_of(const hm_value *items, size_t len) {
  hm_values values = {items, len};
  return values;
}

// BLAKE3 without a key; with a key of 32 bytes; as a key derivation with a context.
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

// Values of each scalar kind.
static inline hm_value hm_null(void) {
  hm_value value = {HM_KIND_NULL, 0, 0, 0, 0, {NULL, 0}};
  return value;
}

static inline hm_value hm_boolean(bool boolean) {
  hm_value value = {HM_KIND_BOOLEAN, 0, boolean, 0, 0, {NULL, 0}};
  return value;
}

static inline hm_value hm_int(int64_t integer) {
  hm_value value = {HM_KIND_INT, 0, integer, 0, 0, {NULL, 0}};
  return value;
}

static inline hm_value hm_uint(uint64_t natural) {
  hm_value value = {HM_KIND_UINT, 0, 0, natural, 0, {NULL, 0}};
  return value;
}

static inline hm_value hm_f64(double real) {
  hm_value value = {HM_KIND_F64, 0, 0, 0, real, {NULL, 0}};
  return value;
}

static inline hm_value hm_string(hm_span text) {
  hm_value value = {HM_KIND_STR, 0, 0, 0, 0, text};
  return value;
}

static inline hm_value hm_binary(hm_span bytes) {
  hm_value value = {HM_KIND_BYTES, 0, 0, 0, 0, bytes};
  return value;
}

static inline hm_value hm_counter(int64_t start) {
  hm_value value = {HM_KIND_COUNTER, 0, start, 0, 0, {NULL, 0}};
  return value;
}

static inline hm_value hm_timestamp(int64_t milliseconds) {
  hm_value value = {HM_KIND_TIMESTAMP, 0, milliseconds, 0, 0, {NULL, 0}};
  return value;
}

#endif // HASHMILL_H
