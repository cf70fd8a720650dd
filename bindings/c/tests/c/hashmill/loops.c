// Repeated calls of each group of functions, on eight threads and in a forked child: loops ROUNDS. The allocated memory must not
// grow from one part of the rounds to the next.
#include "check.h"
#include <argon2.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, PARTS = 4 };
static hm_policy policy;

static void hashes(void) {
  uint8_t out[64];
  hm_hasher *hasher, *copy;
  OK(hm_hash(hm_blake3_keyed(hm_str("sixteen bytes oksixteen bytes ok")), hm_str("abc"), NULL, hm_room_of(out, 64)));
  OK(hm_hasher_create(hm_blake3(), &hasher));
  OK(hm_hasher_update(hasher, hm_str("abc"), NULL));
  OK(hm_hasher_clone(hasher, &copy));
  hm_hasher_free(hasher);
  OK(hm_hasher_finalize(copy, 0, hm_room_of(out, 64)));
  hm_hasher_free(copy);
  FAILS(HM_ARGUMENT, hm_hash(hm_blake3_keyed(hm_str("short")), hm_str("abc"), NULL, hm_room_of(out, 64)));
}

static void documents(void) {
  static hm_doc *doc;
  static hm_obj_id *text;
  if (!doc) {
    OK(hm_doc_create(NULL, &doc));
    OK(hm_map_put_object(doc, NULL, hm_str("text"), HM_KIND_TEXT, &text));
    OK(hm_splice_text(doc, text, 0, 0, hm_str("Hello you")));
    OK(hm_split_block(doc, text, 5, NULL));
  }
  hm_items *items;
  hm_bytes *shown, *cursor;
  hm_parts *parts;
  hm_path *path;
  size_t index;
  OK(hm_map_range(doc, NULL, nothing(), nothing(), NULL, &items));
  OK(hm_obj_path(doc, items->items[0].id, NULL, &path));
  hm_items_free(items);
  hm_path_free(path);
  OK(hm_text(doc, text, NULL, &shown));
  hm_bytes_free(shown);
  OK(hm_get_parts(doc, text, NULL, &parts));
  hm_parts_free(parts);
  OK(hm_get_cursor(doc, text, 3, NULL, &cursor));
  OK(hm_get_cursor_position(doc, text, hm_view(cursor), NULL, &index));
  hm_bytes_free(cursor);
  FAILS(HM_UNKNOWN, hm_map_increment(doc, NULL, hm_str("nothing"), 1));
}

static void lives(void) {
  hm_doc *doc, *peer;
  hm_sync_state *state, *theirs;
  hm_bytes *saved, *message;
  hm_changes *changes;
  hm_patches *patches;
  OK(hm_doc_create(NULL, &doc));
  OK(hm_map_put(doc, NULL, hm_str("a"), hm_string(hm_str("value"))));
  OK(hm_doc_save(doc, &saved));
  OK(hm_doc_load(hm_view(saved), NULL, &peer));
  OK(hm_doc_get_changes(doc, NULL, &changes));
  OK(hm_doc_diff_incremental(doc, &patches));
  OK(hm_sync_state_create(&state));
  OK(hm_sync_state_create(&theirs));
  OK(hm_generate_sync_message(doc, state, &message));
  OK(hm_receive_sync_message(peer, theirs, hm_view(message), NULL));
  // Data read from a document outlives it.
  hm_doc_free(doc);
  CHECK(changes->len == 1 && patches->len == 1 && patches->items[0].items[0].value.bytes.len == 5);
  hm_sync_state_free(state);
  hm_sync_state_free(theirs);
  hm_bytes_free(message);
  hm_bytes_free(saved);
  hm_doc_free(peer);
  hm_changes_free(changes);
  hm_patches_free(patches);
  FAILS(HM_MALFORMED, hm_doc_load(hm_str("no document"), NULL, &doc));
}

// With a new document: the history grows with every edit.
static void edits(void) {
  hm_doc *doc;
  hm_obj_id *list, *text;
  OK(hm_doc_create(NULL, &doc));
  OK(hm_map_put_object(doc, NULL, hm_str("list"), HM_KIND_LIST, &list));
  OK(hm_list_put(doc, list, 0, true, hm_string(hm_str("one"))));
  OK(hm_list_put(doc, list, 0, false, hm_counter(5)));
  OK(hm_list_increment(doc, list, 0, 2));
  OK(hm_map_put_object(doc, NULL, hm_str("text"), HM_KIND_TEXT, &text));
  OK(hm_splice_text(doc, text, 0, 0, hm_str("Hello you")));
  OK(hm_update_text(doc, text, hm_str("Hello to all of you")));
  OK(hm_doc_commit(doc, hm_str("begin"), 0, NULL, NULL));
  OK(hm_splice_text(doc, text, 0, 5, hm_str("Bye")));
  OK(hm_list_delete(doc, list, 0));
  OK(hm_map_delete(doc, NULL, hm_str("list")));
  OK(hm_doc_rollback(doc, NULL));
  OK(hm_list_delete(doc, list, 0));
  FAILS(HM_RANGE, hm_list_delete(doc, list, 7));
  FAILS(HM_WRONG_TYPE, hm_splice_text(doc, list, 0, 0, hm_str("no text")));
  hm_obj_id_free(list);
  hm_obj_id_free(text);
  hm_doc_free(doc);
}

static int lend(uint8_t **memory, size_t bytes) { return (*memory = malloc(bytes)) ? ARGON2_OK : ARGON2_MEMORY_ALLOCATION_ERROR; }

static void take_back(uint8_t *memory, size_t bytes) {
  (void)bytes;
  free(memory);
}

static void libargon2(void) {
  static const char *password = "sesame", *salt = "sixteen bytes ok";
  uint8_t tag[32], word[6] = "sesame";
  char stored[128];
  argon2_context context = {.out = tag, .outlen = 32, .pwd = word, .pwdlen = 6, .salt = tag, .saltlen = 32, .t_cost = 1, .m_cost = 8,
                            .lanes = 1, .threads = 1, .version = ARGON2_VERSION_13, .allocate_cbk = lend, .free_cbk = take_back};
  CHECK(argon2id_hash_raw(1, 8, 1, password, 6, salt, 16, tag, sizeof tag) == ARGON2_OK);
  CHECK(argon2d_ctx(&context) == ARGON2_OK);
  CHECK(argon2i_hash_encoded(1, 8, 1, password, 6, salt, 16, 32, stored, sizeof stored) == ARGON2_OK);
  CHECK(argon2i_verify(stored, password, 6) == ARGON2_OK);
  CHECK(argon2i_verify(stored, password, 5) == ARGON2_VERIFY_MISMATCH);
  CHECK(argon2id_verify(stored, password, 6) == ARGON2_DECODING_FAIL);
  CHECK(argon2id_hash_raw(1, 7, 1, password, 6, salt, 16, tag, sizeof tag) == ARGON2_MEMORY_TOO_LITTLE);
}

static void passwords(void) {
  static hm_passwords *passwords;
  static hm_bytes *stored;
  if (!passwords) {
    OK(hm_passwords_create(&policy, NULL, NULL, &passwords));
    OK(hm_passwords_hash(passwords, hm_str("sesame"), nothing(), &stored));
  }
  bool upgrade;
  hm_bytes *other;
  OK(hm_passwords_hash(passwords, hm_str("please"), nothing(), &other));
  OK(hm_passwords_verify(passwords, hm_str("sesame"), hm_view(stored), &upgrade));
  FAILS(HM_MISMATCH, hm_passwords_verify(passwords, hm_str("sesame"), hm_view(other), &upgrade));
  hm_bytes_free(other);
  FAILS(HM_MALFORMED, hm_passwords_verify(passwords, hm_str("sesame"), hm_str("$argon2"), &upgrade));
}

// The same on threads: only shareable objects are shared.
static void *thread(void *rounds) {
  for (long n = 0; n < *(long *)rounds; n++) hashes(), lives();
  return NULL;
}

static void grows_not(const char *name, void (*call)(void), long rounds) {
  size_t before = 0;
  for (int part = 0; part < PARTS; part++) {
    for (long n = 0; n < rounds / PARTS; n++) call();
    size_t now = mallinfo2().uordblks;
    if (part > 1 && now > before) fprintf(stderr, "%s: from %zu to %zu bytes\n", name, before, now), exit(1);
    before = now;
  }
}

int main(int count, char **arguments) {
  long rounds = count == 2 ? atol(arguments[1]) : 0;
  CHECK(rounds >= PARTS);
  OK(hm_policy_preset(hm_str("owasp-19m"), &policy));
  policy.memory_kib = 8, policy.passes = 1;
  grows_not("hashes", hashes, rounds);
  grows_not("documents", documents, rounds);
  grows_not("lives of documents", lives, rounds);
  grows_not("edits", edits, rounds);
  grows_not("passwords", passwords, rounds);
  grows_not("libargon2", libargon2, rounds);
  pthread_t threads[THREADS];
  long each = rounds / THREADS / 4;
  for (int n = 0; n < THREADS; n++) CHECK(pthread_create(&threads[n], NULL, thread, &each) == 0);
  for (int n = 0; n < THREADS; n++) CHECK(pthread_join(threads[n], NULL) == 0);
  pid_t child = fork();
  if (child == 0) {
    alarm(600);
    hashes(), documents(), lives(), edits(), passwords(), libargon2();
    _exit(0);
  }
  int status;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
  puts("done");
}
