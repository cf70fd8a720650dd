// Hashmill for C: BLAKE3, passwords, documents that several people edit. Made of bindings/c/src/hashmill by bindings/c/header.
//
// Errors: a function that can fail gives NULL when all is well, and else an error, which hm_error_free frees. What it was to give lies
// behind its last pointers; there it leaves NULL, or zeros, when it fails. There is no global state, and no last error.
//
// Memory: what a function gives is freed by the function whose name ends in _free, which takes NULL, too. In whatever order, and on
// whatever thread: nothing needs another thing to be alive. What lies behind the pointers of a list is there until the list is freed.
//
// Threads: no function starts threads but those of a pool, of hm_files, and of documents whose options ask for them
// (hm_doc_limits.parallel_from), which stay for other documents. Any number of threads may work with one handle at a time in
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


// Version of this header: the first number. Another one means that programs have to be changed; before 1.0.0 the second one does.
#define HM_VERSION_MAJOR 0

// The second number of the version.
#define HM_VERSION_MINOR 1

// The third number of the version.
#define HM_VERSION_PATCH 0

// The version as one number, which grows with it: `0x000100` for 0.1.0.
#define HM_VERSION (((HM_VERSION_MAJOR << 16) | (HM_VERSION_MINOR << 8)) | HM_VERSION_PATCH)

// A document with its whole history, and the edits since the last commit. Functions that take it as a pointer to const see those edits,
// too; most others commit them first, without a message.
typedef struct hm_doc hm_doc;

// An error. A function gives NULL where there is none, and one that `hm_error_free` frees otherwise.
typedef struct hm_error hm_error;

// What hashes files. Several threads may use one at a time.
typedef struct hm_files hm_files;

// An input that comes in pieces.
typedef struct hm_hasher hm_hasher;

// The name of an object in a document; the root has none but NULL. What a list shows is freed with the list; what a function gave by
// itself is freed by `hm_obj_id_free`. It is good for all documents that have the object.
typedef struct hm_obj_id hm_obj_id;

// What owns the memory that a list shows.
typedef struct hm_owner hm_owner;

// Makes and checks hashes of passwords, and keeps the memory of past hashes, wiped, for the next. Several threads may use one at a
// time.
typedef struct hm_passwords hm_passwords;

// Threads that do the work of whoever calls with them, and sleep between calls. Several threads may use one at a time. It may be freed
// while something that was made with it lives. A child of `fork` has no such threads: its callers do the work.
typedef struct hm_pool hm_pool;

// A request to stop. Any number of threads may use one at a time.
typedef struct hm_stop hm_stop;

// What is known of a peer, for one document: one for each connection.
typedef struct hm_sync_state hm_sync_state;

// What kind of error it is: for programs. More may come.
typedef uint32_t hm_code;

// Bytes that a function gave: `hm_bytes_free` frees them. Behind the last lies a zero that is not counted, so that a text without zeros
// is a string of C.
typedef struct {
  // The first byte.
  const uint8_t *data;
  // How many.
  size_t len;
  // The library's.
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
  // For later versions: 0.
  uint32_t reserved[5];
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
  // The library's.
  hm_owner *owner;
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
  // The most memory in use at any time, in KiB, by all threads together: calls wait for their turn, each on its own thread, and no
  // pool helps. 0 for no bound.
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
  // For later versions: 0.
  uint64_t reserved[4];
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
  // The library's.
  hm_owner *owner;
} hm_verdicts;

// An object on a way through a document, and where the next one lies in it.
typedef struct {
  // The object.
  const hm_obj_id *obj;
  // The key there, if it is a map.
  hm_span key;
  // The index there, if it is a list or text.
  size_t index;
  // Whether it is the index that counts.
  bool in_list;
} hm_step;

// A way through a document, from the root on.
typedef struct {
  // The first step.
  const hm_step *items;
  // How many.
  size_t len;
  // The library's.
  hm_owner *owner;
} hm_path;

// The kind of a value.
typedef uint32_t hm_kind;

// A value. `kind` says which of the others counts.
typedef struct {
  // Which kind.
  hm_kind kind;
  // The number of an unknown type.
  uint32_t type_code;
  // A number.
  int64_t integer;
  // A number that is not negative.
  uint64_t natural;
  // A number with digits behind the point.
  double real;
  // Bytes.
  hm_span bytes;
} hm_value;

// A value and where it is.
typedef struct {
  // The key, in a map.
  hm_span key;
  // The index, in a list.
  size_t index;
  // The value.
  hm_value value;
  // Of the value: an object's own, or the operation that put it there.
  const hm_obj_id *id;
  // Whether others were put there at the same time, and lost.
  bool conflict;
} hm_item;

// Values.
typedef struct {
  // The first.
  const hm_item *items;
  // How many.
  size_t len;
  // The library's.
  hm_owner *owner;
} hm_items;

// How indexes into texts are counted.
typedef uint32_t hm_text_encoding;

// What bytes from elsewhere may ask for, and what a document may become. 0 stands for a default that is above any document known; who
// reads from strangers sets them lower.
typedef struct {
  // Bytes that one chunk may inflate to.
  uint64_t inflated_bytes;
  // Operations in one change.
  uint64_t operations;
  // Operations of a document.
  uint64_t total;
  // Changes of a document, and changes that wait for others.
  uint64_t changes;
  // Steps of work that one call may cost beyond what bytes pay for.
  uint64_t steps;
  // Bytes of a chunk from which several threads read it, which the library starts then and keeps; 0: no other than the one that
  // calls.
  uint64_t parallel_from;
  // For later versions: 0.
  uint64_t reserved[4];
} hm_doc_limits;

// How a document is made or read. Zeros are a good choice.
typedef struct {
  // Who writes here: any bytes that nobody else uses. No bytes stand for random ones.
  hm_span actor;
  // How indexes into texts are counted.
  hm_text_encoding text_encoding;
  // Not 0: of a file whose end cannot be read the rest is kept.
  uint32_t keep_partial;
  // Limits.
  hm_doc_limits limits;
  // For later versions: 0.
  uint64_t reserved[4];
} hm_doc_options;

// The hash of a change.
typedef struct {
  // SHA-256.
  uint8_t bytes[32];
} hm_change_hash;

// Hashes of changes, such as the heads of a document: those that a function gave, which `hm_hashes_free` frees, or the caller's own,
// with an `owner` that is NULL.
typedef struct {
  // The first.
  const hm_change_hash *items;
  // How many.
  size_t len;
  // The library's, or NULL.
  hm_owner *owner;
} hm_hashes;

// Several values of the caller.
typedef struct {
  // The first.
  const hm_value *items;
  // How many.
  size_t len;
} hm_values;

// Whether what is typed at the edge of a mark belongs to it.
typedef uint32_t hm_expand;

// A range of a text that is marked.
typedef struct {
  // The first unit.
  size_t start;
  // Behind the last unit.
  size_t end;
  // What is said of the range, such as `bold`.
  hm_span name;
  // How.
  hm_value value;
} hm_mark;

// Marks.
typedef struct {
  // The first.
  const hm_mark *items;
  // How many.
  size_t len;
  // The library's.
  hm_owner *owner;
} hm_marks;

// Where a cursor goes when its element is deleted.
typedef uint32_t hm_move;

// A part of a rich text: text under the same marks, or a block.
typedef struct {
  // The text. What is neither text nor a block appears as U+FFFC. Of a block it is that alone.
  hm_span text;
  // The marks on all of it, whose ranges are empty.
  const hm_mark *marks;
  // How many.
  size_t marks_len;
  // The block: a map, which says what it is; NULL for text. `hm_obj_path` ends in its index.
  const hm_obj_id *block;
} hm_part;

// The parts of a rich text, in their order.
typedef struct {
  // The first.
  const hm_part *items;
  // How many.
  size_t len;
  // The library's.
  hm_owner *owner;
} hm_parts;

// A change.
typedef struct {
  // Its hash.
  hm_change_hash hash;
  // Who made it.
  hm_span actor;
  // Which of its actor's changes it is, from 1.
  uint64_t seq;
  // The counter of its first operation.
  uint64_t start_op;
  // That of its last one.
  uint64_t max_op;
  // When, in seconds since 1970, or 0.
  int64_t time;
  // Its message, which may have no bytes.
  hm_span message;
  // The changes before it.
  const hm_change_hash *deps;
  // How many.
  size_t deps_len;
  // All of it, for `hm_doc_apply_changes`.
  hm_span bytes;
  // Who stands behind the actor, in its first change and if `hm_doc_commit_by` was told; else no bytes.
  hm_span author;
  // What else its writer put into it, the author among it, or no bytes.
  hm_span extra;
  // How many operations it has.
  size_t operations;
} hm_change;

// Changes, each after those it depends on.
typedef struct {
  // The first.
  const hm_change *items;
  // How many.
  size_t len;
  // The library's.
  hm_owner *owner;
} hm_changes;

// What a patch does.
typedef uint32_t hm_patch_kind;

// A step from one moment of a document to another.
typedef struct {
  // What it does.
  hm_patch_kind kind;
  // To which object.
  const hm_obj_id *obj;
  // A key, if the object is a map.
  hm_span key;
  // An index, if it is a list or text.
  size_t index;
  // How many.
  size_t length;
  // By how much.
  int64_t by;
  // Characters.
  hm_span text;
  // Values.
  const hm_item *items;
  // How many.
  size_t items_len;
  // Marks.
  const hm_mark *marks;
  // How many.
  size_t marks_len;
} hm_patch;

// Patches, in the order in which they are to be applied.
typedef struct {
  // The first.
  const hm_patch *items;
  // How many.
  size_t len;
  // The library's.
  hm_owner *owner;
} hm_patches;

// What a peer says it has since it was last in step.
typedef struct {
  // The heads that both had then.
  const hm_change_hash *last_sync;
  // How many.
  size_t last_sync_len;
  // The changes after them, as a Bloom filter.
  hm_span bloom;
} hm_sync_have;

// What a message says.
typedef struct {
  // The heads of the sender.
  const hm_change_hash *heads;
  // How many.
  size_t heads_len;
  // Changes that the sender asks for by name.
  const hm_change_hash *needs;
  // How many.
  size_t needs_len;
  // What the sender has.
  const hm_sync_have *haves;
  // How many.
  size_t haves_len;
  // Changes for the receiver, in chunks that follow each other, such as `hm_doc_load_incremental` takes.
  const hm_span *changes;
  // How many.
  size_t changes_len;
  // Whether the sender takes no changes.
  bool read_only;
  // Whether the receiver is to forget what it has sent.
  bool reset;
  // The library's.
  hm_owner *owner;
} hm_sync_message;

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

// The document has no such object, change, cursor or counter.
#define HM_UNKNOWN 10

// An object of this kind cannot do that, or holds no such value.
#define HM_WRONG_TYPE 11

// An index past the end, or a range that ends before it starts.
#define HM_RANGE 12

// Changes that contradict the history they build on.
#define HM_CONTRADICTION 13

// Changes that others depend on are missing.
#define HM_MISSING 14

// Somebody asked the call to stop.
#define HM_STOPPED 15

// Digests. There is no key.
#define HM_MODE_HASH 0

// Digests under a secret key of 32 bytes: a message authentication code.
#define HM_MODE_KEYED 1

// Keys for one purpose. The key is a text that names the purpose, such as `example.com 2026-11-20 session tokens v1`, and the input is
// the key material.
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

// `bytes`, which are UTF-8: a string that is replaced as a whole. Texts that several people edit are `HM_KIND_TEXT`.
#define HM_KIND_STR 5

// `bytes`.
#define HM_KIND_BYTES 6

// `integer`: a number to which increments of several people add up.
#define HM_KIND_COUNTER 7

// `integer`: milliseconds since 1970.
#define HM_KIND_TIMESTAMP 8

// `bytes` of a type that is newer than this library, which `type_code` names.
#define HM_KIND_UNKNOWN 9

// An object: keys with values.
#define HM_KIND_MAP 16

// An object as a map.
#define HM_KIND_TABLE 17

// An object: a sequence of values.
#define HM_KIND_LIST 18

// An object: a sequence of characters, with marks.
#define HM_KIND_TEXT 19

// In Unicode scalar values.
#define HM_TEXT_CODE_POINTS 0

// In bytes of UTF-8.
#define HM_TEXT_UTF8 1

// In units of UTF-16, as in JavaScript.
#define HM_TEXT_UTF16 2

// In what people take for characters.
#define HM_TEXT_GRAPHEMES 3

// At neither edge, as for links.
#define HM_EXPAND_NONE 0

// At the start.
#define HM_EXPAND_BEFORE 1

// At the end, as for bold.
#define HM_EXPAND_AFTER 2

// At both.
#define HM_EXPAND_BOTH 3

// To the next element that is there, or the end.
#define HM_MOVE_AFTER 0

// To the one before it that is there, or the start.
#define HM_MOVE_BEFORE 1

// `key` of a map has the value of `items` now.
#define HM_PATCH_PUT_MAP 0

// `index` of a list has the value of `items` now.
#define HM_PATCH_PUT_LIST 1

// The values of `items` came before `index` of a list, or a block before that of a text.
#define HM_PATCH_INSERT 2

// `text` came before `index` of a text, with `marks`, whose ranges are empty.
#define HM_PATCH_SPLICE_TEXT 3

// The counter at `key` or `index` grew by `by`.
#define HM_PATCH_INCREMENT 4

// What stands at `key` or `index` stays, but others are there now, too.
#define HM_PATCH_CONFLICT 5

// `key` of a map has no value any more.
#define HM_PATCH_DELETE_MAP 6

// `length` elements or units went from `index` on.
#define HM_PATCH_DELETE_LIST 7

// A text is marked as `marks` say; null says that a mark was taken off.
#define HM_PATCH_MARK 8

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Version of the library that the program runs with, in the form of `HM_VERSION`, which is that of the header it was compiled with.
uint32_t hm_version(void);

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

// Starts `threads` threads, at most 4096; 0 stands for as many as this process may have at a time.
HM_MUST_USE hm_error *hm_pool_create(uint32_t threads, hm_pool **pool);

// Frees a pool, whose threads end with the last that was made with it; or nothing.
void hm_pool_free(hm_pool *pool);

// Fills `out` with the output for an input: the first 32 bytes are the digest. `pool` may be NULL: then this thread does the work.
// The input may lie where the output goes.
HM_MUST_USE
hm_error *hm_hash(hm_function function,
                  hm_span input,
                  const hm_pool *pool,
                  hm_room out);

// The digests of many inputs, side by side in the lanes of the processor, and on the threads of `pool` unless it is NULL. `out` has
// room for 32 bytes for each input, in their order; inputs may lie there.
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

// A request that nobody has made yet.
HM_MUST_USE hm_error *hm_stop_create(hm_stop **stop);

// Asks the calls that look at it to end, from another thread or a handler of signals: they do after a quarter of a pass at most, with
// `HM_STOPPED`. So do later ones. NULL asks nobody.
void hm_stop_set(const hm_stop *stop);

// Takes the request back.
void hm_stop_clear(const hm_stop *stop);

// Frees a request that no call looks at any more, or nothing.
void hm_stop_free(hm_stop *stop);

// As `hm_passwords_hash`, until somebody asks to stop.
HM_MUST_USE
hm_error *hm_passwords_hash_until(const hm_passwords *passwords,
                                  hm_span password,
                                  hm_span salt,
                                  const hm_stop *stop,
                                  hm_bytes **stored);

// As `hm_passwords_verify`, until somebody asks to stop.
HM_MUST_USE
hm_error *hm_passwords_verify_until(const hm_passwords *passwords,
                                    hm_span password,
                                    hm_span stored,
                                    const hm_stop *stop,
                                    bool *upgrade);

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

// Frees a way, or nothing.
void hm_path_free(hm_path *path);

// Frees a list, with the ids that it shows; or nothing.
void hm_items_free(hm_items *items);

// Reads an id as `hm_obj_id_text` writes it: `_root` or `<counter>@<actor in hex>`.
HM_MUST_USE hm_error *hm_obj_id_parse(hm_span text, hm_obj_id **id);

// An id as a text.
HM_MUST_USE hm_error *hm_obj_id_text(const hm_obj_id *id, hm_bytes **text);

// An id of one's own, such as of what a list shows.
HM_MUST_USE hm_error *hm_obj_id_clone(const hm_obj_id *id, hm_obj_id **copy);

// Whether both name the same object; NULL is the root.
bool hm_obj_id_equal(const hm_obj_id *one, const hm_obj_id *other);

// Frees an id, or nothing.
void hm_obj_id_free(hm_obj_id *id);

// An empty document. `options` may be NULL.
HM_MUST_USE hm_error *hm_doc_create(const hm_doc_options *options, hm_doc **doc);

// Reads a file: a document, changes, or any sequence of them. `options` may be NULL.
HM_MUST_USE hm_error *hm_doc_load(hm_span bytes, const hm_doc_options *options, hm_doc **doc);

// Takes over the good beginning of a stream of chunks, such as what `hm_doc_save_incremental` gave; what follows the first bad one is
// left out, because streams are cut off anywhere. `operations`, unless it is NULL, is how many there were.
HM_MUST_USE
hm_error *hm_doc_load_incremental(hm_doc *doc,
                                  hm_span bytes,
                                  size_t *operations);

// The file of a document.
HM_MUST_USE hm_error *hm_doc_save(hm_doc *doc, hm_bytes **bytes);

// What came since the last time something was saved, to be put behind that.
HM_MUST_USE hm_error *hm_doc_save_incremental(hm_doc *doc, hm_bytes **bytes);

// What came after `heads`, as changes one behind the other; hashes that are unknown here are passed over.
HM_MUST_USE hm_error *hm_doc_save_after(hm_doc *doc, const hm_hashes *heads, hm_bytes **bytes);

// The file of a document without compression: larger, and quicker to write.
HM_MUST_USE hm_error *hm_doc_save_nocompress(hm_doc *doc, hm_bytes **bytes);

// The same document with another actor, as it is or as it was at `heads`; both share everything until one of them changes it.
HM_MUST_USE
hm_error *hm_doc_fork(hm_doc *doc,
                      const hm_hashes *heads,
                      hm_doc **fork);

// Takes over everything that another document has and this one lacks; of the other one, edits are committed. It may be the same one.
HM_MUST_USE
hm_error *hm_doc_merge(hm_doc *doc,
                       hm_doc *other);

// Who writes here.
HM_MUST_USE hm_error *hm_doc_get_actor(const hm_doc *doc, hm_bytes **actor);

// Who stands behind an actor, as `hm_doc_commit_by` was told: NULL where nobody said.
HM_MUST_USE hm_error *hm_doc_get_author(const hm_doc *doc, hm_span actor, hm_bytes **author);

// Writes as another actor from now on.
HM_MUST_USE hm_error *hm_doc_set_actor(hm_doc *doc, hm_span actor);

// Makes a change of the edits since the last one, with a message, unless that has no bytes, and a time in seconds since 1970, or 0.
// `made`, unless it is NULL, says whether there was any edit; `hash`, unless it is NULL, is the change's then, and zeros otherwise.
HM_MUST_USE
hm_error *hm_doc_commit(hm_doc *doc,
                        hm_span message,
                        int64_t time,
                        bool *made,
                        hm_change_hash *hash);

// As `hm_doc_commit`; says who stands behind the actor, too, by any bytes: one person may write as many actors. Only an actor's first
// change records it.
HM_MUST_USE
hm_error *hm_doc_commit_by(hm_doc *doc,
                           hm_span author,
                           hm_span message,
                           int64_t time,
                           bool *made,
                           hm_change_hash *hash);

// Makes a change without edits, that says that everything before it was seen.
HM_MUST_USE hm_error *hm_doc_empty_change(hm_doc *doc, hm_span message, int64_t time);

// Takes back the edits since the last commit. `operations`, unless it is NULL, is how many there were.
HM_MUST_USE hm_error *hm_doc_rollback(hm_doc *doc, size_t *operations);

// How many operations there were since the last commit.
HM_MUST_USE hm_error *hm_doc_pending_ops(const hm_doc *doc, size_t *operations);

// Reads and writes the document as it was at `heads` until `hm_doc_integrate`: what is written then is concurrent to everything since.
HM_MUST_USE
hm_error *hm_doc_isolate(hm_doc *doc,
                         const hm_hashes *heads);

// Goes back to the whole document.
HM_MUST_USE hm_error *hm_doc_integrate(hm_doc *doc);

// The changes that no other change was made after, in ascending order.
HM_MUST_USE hm_error *hm_doc_get_heads(hm_doc *doc, hm_hashes **heads);

// The hashes of changes that are missing: among `heads`, which may be NULL, and among what waiting changes depend on.
HM_MUST_USE hm_error *hm_doc_get_missing_deps(hm_doc *doc, const hm_hashes *heads, hm_hashes **missing);

// Takes changes from elsewhere, in any order; those whose dependencies are missing wait for them. If one breaks a rule, none is taken.
HM_MUST_USE
hm_error *hm_doc_apply_changes(hm_doc *doc,
                               hm_spans changes);

// Frees hashes, or nothing.
void hm_hashes_free(hm_hashes *hashes);

// Frees a document, or nothing.
void hm_doc_free(hm_doc *doc);

// Puts a value at a key of a map. `obj` is an object of the document, or NULL for its root; so everywhere.
HM_MUST_USE hm_error *hm_map_put(hm_doc *doc, const hm_obj_id *obj, hm_span key, hm_value value);

// Puts a new object at a key of a map. `id` may be NULL, here and below.
HM_MUST_USE hm_error *hm_map_put_object(hm_doc *doc, const hm_obj_id *obj, hm_span key, hm_kind kind, hm_obj_id **id);

// Adds to the counter at a key of a map.
HM_MUST_USE hm_error *hm_map_increment(hm_doc *doc, const hm_obj_id *obj, hm_span key, int64_t by);

// Deletes a key of a map. One without a value is no error.
HM_MUST_USE hm_error *hm_map_delete(hm_doc *doc, const hm_obj_id *obj, hm_span key);

// Inserts a value before an index of a list, or replaces the one that is there.
HM_MUST_USE hm_error *hm_list_put(hm_doc *doc, const hm_obj_id *obj, size_t index, bool insert, hm_value value);

// Inserts a new object before an index of a list, or replaces what is there with it.
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

// Deletes `count` elements of a list from `index` on, or before it when that is negative, and inserts values there. In a text, where
// only strings can be inserted, `count` is of units.
HM_MUST_USE
hm_error *hm_splice(hm_doc *doc,
                    const hm_obj_id *obj,
                    size_t index,
                    ptrdiff_t count,
                    hm_values values);

// Deletes `count` units of a text from `index` on, or before it when that is negative, and inserts a text there. Deleting past the end
// stops at the end.
HM_MUST_USE
hm_error *hm_splice_text(hm_doc *doc,
                         const hm_obj_id *obj,
                         size_t index,
                         ptrdiff_t count,
                         hm_span text);

// Makes a text read as another one, by the few edits that lead there.
HM_MUST_USE hm_error *hm_update_text(hm_doc *doc, const hm_obj_id *obj, hm_span text);

// The value at a key of a map, as a list of one, or of none where there is nothing. `heads` is when, and NULL is now; so everywhere.
// `conflict` is not told here: `hm_map_get_all` tells more.
HM_MUST_USE
hm_error *hm_map_get(const hm_doc *doc,
                     const hm_obj_id *obj,
                     hm_span key,
                     const hm_hashes *heads,
                     hm_items **items);

// All values at a key of a map that nobody has seen to be overwritten: the last one wins.
HM_MUST_USE
hm_error *hm_map_get_all(const hm_doc *doc,
                         const hm_obj_id *obj,
                         hm_span key,
                         const hm_hashes *heads,
                         hm_items **items);

// The keys of a map from `begin` on and before `end` with their values, in the order of the keys' bytes. An `end` without bytes is
// behind all of them.
HM_MUST_USE
hm_error *hm_map_range(const hm_doc *doc,
                       const hm_obj_id *obj,
                       hm_span begin,
                       hm_span end,
                       const hm_hashes *heads,
                       hm_items **items);

// The value at an index of a list, as a list of one, or of none where it ends before.
HM_MUST_USE
hm_error *hm_list_get(const hm_doc *doc,
                      const hm_obj_id *obj,
                      size_t index,
                      const hm_hashes *heads,
                      hm_items **items);

// All values at an index of a list that nobody has seen to be overwritten: the last one wins.
HM_MUST_USE
hm_error *hm_list_get_all(const hm_doc *doc,
                          const hm_obj_id *obj,
                          size_t index,
                          const hm_hashes *heads,
                          hm_items **items);

// The elements of a list from index `begin` on and before index `end` with their values. An `end` past the end is the end.
HM_MUST_USE
hm_error *hm_list_range(const hm_doc *doc,
                        const hm_obj_id *obj,
                        size_t begin,
                        size_t end,
                        const hm_hashes *heads,
                        hm_items **items);

// How many keys a map has, elements a list, units a text.
HM_MUST_USE hm_error *hm_obj_size(const hm_doc *doc, const hm_obj_id *obj, const hm_hashes *heads, size_t *size);

// The kind of an object.
HM_MUST_USE hm_error *hm_obj_kind(const hm_doc *doc, const hm_obj_id *obj, hm_kind *kind);

// The way from the root to an object: none for the root, and for an object that nothing leads to any more.
HM_MUST_USE hm_error *hm_obj_path(const hm_doc *doc, const hm_obj_id *obj, const hm_hashes *heads, hm_path **path);

// A text. What is no text in it appears as U+FFFC.
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

// Takes the marks of a name off a range.
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

// Frees marks, or nothing.
void hm_marks_free(hm_marks *marks);

// A cursor at an index of a list or text, as bytes: what is equal is the same cursor. `HM_CURSOR_START` and `HM_CURSOR_END` are indexes,
// too: the start, whatever is inserted there, and the end, however far it moves. When its element is deleted it moves to the next one.
HM_MUST_USE
hm_error *hm_get_cursor(const hm_doc *doc,
                        const hm_obj_id *obj,
                        size_t index,
                        const hm_hashes *heads,
                        hm_bytes **cursor);

// As `hm_get_cursor`, with a say in where it goes.
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

// Frees parts, or nothing.
void hm_parts_free(hm_parts *parts);

// Puts a new block, an empty map, before an index of a text.
HM_MUST_USE hm_error *hm_split_block(hm_doc *doc, const hm_obj_id *obj, size_t index, hm_obj_id **id);

// Deletes the block at an index of a text, so that what it divided is joined.
HM_MUST_USE hm_error *hm_join_block(hm_doc *doc, const hm_obj_id *obj, size_t index);

// Puts a new block, an empty map, in the place of that at an index of a text.
HM_MUST_USE hm_error *hm_replace_block(hm_doc *doc, const hm_obj_id *obj, size_t index, hm_obj_id **id);

// All changes that are not among `have` and what came before them; of NULL, all. Hashes that are unknown here are passed over.
HM_MUST_USE
hm_error *hm_doc_get_changes(hm_doc *doc,
                             const hm_hashes *have,
                             hm_changes **found);

// The change of a hash, as a list of one, or of none.
HM_MUST_USE hm_error *hm_doc_get_change_by_hash(hm_doc *doc, const hm_change_hash *hash, hm_changes **found);

// The changes that another document has and this one lacks. It may be the same one.
HM_MUST_USE hm_error *hm_doc_get_changes_added(hm_doc *doc, hm_doc *other, hm_changes **found);

// The last change that was made here, by the actor who writes, as a list of one, or of none.
HM_MUST_USE hm_error *hm_doc_get_last_local_change(hm_doc *doc, hm_changes **found);

// Reads changes without a document, each of its own bytes. `limits` may be NULL.
HM_MUST_USE hm_error *hm_changes_decode(hm_spans bytes, const hm_doc_limits *limits, hm_changes **found);

// Frees changes, or nothing.
void hm_changes_free(hm_changes *changes);

// The steps from the document as it was at `before` to what it was at `after`, which may be earlier. No heads stand for the document
// before its first change.
HM_MUST_USE
hm_error *hm_doc_diff(hm_doc *doc,
                      const hm_hashes *before,
                      const hm_hashes *after,
                      hm_patches **found);

// The steps since the last time, or from nothing: for whoever shows a document.
HM_MUST_USE hm_error *hm_doc_diff_incremental(hm_doc *doc, hm_patches **found);

// The way from the root to the object of patch `index`, when all patches are applied.
HM_MUST_USE hm_error *hm_patches_path(const hm_patches *patches, size_t index, hm_path **path);

// Frees patches, or nothing.
void hm_patches_free(hm_patches *patches);

// Reads a message, for who looks at what peers say. `hm_receive_sync_message` takes the bytes.
HM_MUST_USE hm_error *hm_sync_message_decode(hm_span bytes, hm_sync_message **message);

// Frees what a message says, or nothing.
void hm_sync_message_free(hm_sync_message *message);

// A state for a peer of whom nothing is known.
HM_MUST_USE hm_error *hm_sync_state_create(hm_sync_state **state);

// What is worth keeping of a state until the next connection.
HM_MUST_USE hm_error *hm_sync_state_encode(const hm_sync_state *state, hm_bytes **bytes);

// Reads what `hm_sync_state_encode` gave.
HM_MUST_USE hm_error *hm_sync_state_decode(hm_span bytes, hm_sync_state **state);

// Heads of what both have, as far as this side knows.
HM_MUST_USE hm_error *hm_sync_state_shared_heads(const hm_sync_state *state, hm_hashes **heads);

// The heads that the peer was told last.
HM_MUST_USE hm_error *hm_sync_state_last_sent_heads(const hm_sync_state *state, hm_hashes **heads);

// The heads that the peer named last: NULL before its first message.
HM_MUST_USE hm_error *hm_sync_state_their_heads(const hm_sync_state *state, hm_hashes **heads);

// Not false: changes of the peer are left alone, and it is told so.
HM_MUST_USE hm_error *hm_sync_state_set_read_only(hm_sync_state *state, bool read_only);

// Whether the peer said that it takes no changes.
HM_MUST_USE hm_error *hm_sync_state_is_peer_read_only(const hm_sync_state *state, bool *read_only);

// The next message for the peer. NULL when all is said, or while an answer is awaited.
HM_MUST_USE hm_error *hm_generate_sync_message(hm_doc *doc, hm_sync_state *state, hm_bytes **message);

// Takes a message of the peer. When it cannot be read, document and state are as they were. A change that breaks a rule is left out
// alone, and not asked for again; `refused`, unless it is NULL, has the hashes of those.
HM_MUST_USE
hm_error *hm_receive_sync_message(hm_doc *doc,
                                  hm_sync_state *state,
                                  hm_span message,
                                  hm_hashes **refused);

// Frees a state, or nothing.
void hm_sync_state_free(hm_sync_state *state);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

// The index of a cursor that stays at the start.
#define HM_CURSOR_START (SIZE_MAX - 1)
// The index of a cursor that stays at the end.
#define HM_CURSOR_END SIZE_MAX

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

static inline hm_values hm_values_of(const hm_value *items, size_t len) {
  hm_values values = {items, len};
  return values;
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

// Values of each kind without parts.
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
