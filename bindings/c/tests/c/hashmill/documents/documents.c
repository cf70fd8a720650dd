// Documents: edits compared with the crate, reading, files, forks, wrong arguments, destruction in another order than creation,
// threads, a leak loop.
#include "../check.h"
#include <pthread.h>

enum { THREADS = 8, ROUNDS = 2000 };

static hm_doc *doc_by(const char *actor) {
  hm_doc_options options = {.actor = hm_str(actor)};
  hm_doc *doc;
  OK(hm_doc_create(&options, &doc));
  return doc;
}

static int is(hm_span span, const char *text) { return span.len == strlen(text) && memcmp(span.data, text, span.len) == 0; }

static void expect_text(const hm_doc *doc, const hm_obj_id *obj, const hm_hashes *heads, const char *expected) {
  hm_bytes *text;
  OK(hm_text(doc, obj, heads, &text));
  CHECK(strcmp((const char *)text->data, expected) == 0);
  hm_bytes_free(text);
}

// Returns the list and the text.
static void edit(hm_doc *doc, hm_obj_id **list, hm_obj_id **text) {
  OK(hm_map_put(doc, NULL, hm_str("title"), hm_string(hm_str("Gr\xc3\xbc\xc3\x9f" "e"))));
  OK(hm_map_put(doc, NULL, hm_str("count"), hm_counter(7)));
  OK(hm_map_put(doc, NULL, hm_str("when"), hm_timestamp(1700000000000)));
  OK(hm_map_put(doc, NULL, hm_str("raw"), hm_binary(hm_span_of("\0\xff", 3))));
  OK(hm_map_put(doc, NULL, hm_str("none"), hm_null()));
  bool made;
  hm_change_hash hash;
  OK(hm_doc_commit(doc, hm_str("begin"), 5, &made, &hash));
  CHECK(made);
  OK(hm_map_increment(doc, NULL, hm_str("count"), -3));
  OK(hm_map_put_object(doc, NULL, hm_str("list"), HM_KIND_LIST, list));
  OK(hm_list_put(doc, *list, 0, true, hm_boolean(true)));
  OK(hm_list_put(doc, *list, 1, true, hm_int(-1)));
  OK(hm_list_put(doc, *list, 2, true, hm_uint(UINT64_MAX)));
  OK(hm_list_put(doc, *list, 0, false, hm_f64(0.5)));
  hm_obj_id *map;
  OK(hm_list_put_object(doc, *list, 3, true, HM_KIND_MAP, &map));
  OK(hm_map_put(doc, map, hm_str("deep"), hm_string(hm_str("down"))));
  hm_obj_id_free(map);
  OK(hm_list_delete(doc, *list, 1));
  OK(hm_map_put_object(doc, NULL, hm_str("text"), HM_KIND_TEXT, text));
  OK(hm_splice_text(doc, *text, 0, 0, hm_str("Hello you")));
  OK(hm_splice_text(doc, *text, 6, 3, hm_str("all of you")));
  OK(hm_update_text(doc, *text, hm_str("Hello to all of you")));
  OK(hm_map_delete(doc, NULL, hm_str("none")));
  size_t pending;
  OK(hm_doc_pending_ops(doc, &pending));
  CHECK(pending > 0);
  OK(hm_doc_commit(doc, nothing(), 0, NULL, NULL));
  OK(hm_doc_commit(doc, nothing(), 0, &made, &hash));
  CHECK(!made);
}

static void reading(const hm_doc *doc, const hm_obj_id *list, const hm_obj_id *text) {
  hm_items *items;
  OK(hm_map_range(doc, NULL, nothing(), nothing(), NULL, &items));
  CHECK(items->len == 6 && is(items->items[0].key, "count") && is(items->items[5].key, "when"));
  CHECK(items->items[0].value.kind == HM_KIND_COUNTER && items->items[0].value.integer == 4);
  CHECK(items->items[1].value.kind == HM_KIND_LIST && hm_obj_id_equal(items->items[1].id, list));
  CHECK(items->items[2].value.kind == HM_KIND_BYTES && items->items[2].value.bytes.len == 3);
  CHECK(items->items[5].value.integer == 1700000000000 && !items->items[5].conflict);
  hm_items_free(items);
  OK(hm_map_range(doc, NULL, hm_str("m"), hm_str("text"), NULL, &items));
  CHECK(items->len == 1 && is(items->items[0].key, "raw"));
  hm_items_free(items);
  OK(hm_map_range(doc, NULL, hm_str("z"), hm_str("a"), NULL, &items));
  CHECK(items->len == 0);
  hm_items_free(items);
  OK(hm_list_range(doc, list, 0, SIZE_MAX, NULL, &items));
  CHECK(items->len == 3 && items->items[0].value.real == 0.5 && items->items[1].value.natural == UINT64_MAX);
  CHECK(items->items[2].value.kind == HM_KIND_MAP && items->items[2].index == 2);
  hm_items *deep;
  OK(hm_map_get(doc, items->items[2].id, hm_str("deep"), NULL, &deep));
  hm_items_free(items);
  CHECK(deep->len == 1 && is(deep->items[0].value.bytes, "down"));
  hm_items_free(deep);
  OK(hm_map_get(doc, NULL, hm_str("none"), NULL, &items));
  CHECK(items->len == 0);
  hm_items_free(items);
  OK(hm_list_get(doc, list, 9, NULL, &items));
  CHECK(items->len == 0);
  hm_items_free(items);
  expect_text(doc, text, NULL, "Hello to all of you");
  size_t size;
  OK(hm_obj_size(doc, text, NULL, &size));
  CHECK(size == 19);
  hm_kind kind;
  OK(hm_obj_kind(doc, list, &kind));
  CHECK(kind == HM_KIND_LIST);
}

static void wrong_arguments(hm_doc *doc, const hm_obj_id *list) {
  hm_items *items = (hm_items *)doc;
  size_t size;
  FAILS(HM_ARGUMENT, hm_map_get(NULL, NULL, hm_str("a"), NULL, &items));
  CHECK(items == NULL);
  FAILS(HM_ARGUMENT, hm_map_get(doc, NULL, hm_str("a"), NULL, NULL));
  FAILS(HM_ARGUMENT, hm_map_get(doc, NULL, lie(), NULL, &items));
  FAILS(HM_NOT_UTF8, hm_map_get(doc, NULL, hm_str("\xf0\x9f"), NULL, &items));
  FAILS(HM_WRONG_TYPE, hm_map_get(doc, list, hm_str("a"), NULL, &items));
  FAILS(HM_WRONG_TYPE, hm_list_get(doc, NULL, 0, NULL, &items));
  FAILS(HM_WRONG_TYPE, hm_map_put(doc, list, hm_str("a"), hm_null()));
  FAILS(HM_NOT_UTF8, hm_map_put(doc, NULL, hm_str("a"), hm_string(hm_str("\xff"))));
  FAILS(HM_ARGUMENT, hm_map_put(doc, NULL, hm_str("a"), hm_binary(lie())));
  hm_value value = hm_null();
  value.kind = HM_KIND_MAP;
  FAILS(HM_ARGUMENT, hm_map_put(doc, NULL, hm_str("a"), value));
  value.kind = HM_KIND_UNKNOWN, value.type_code = 1000;
  FAILS(HM_ARGUMENT, hm_map_put(doc, NULL, hm_str("a"), value));
  value.type_code = 3;
  FAILS(HM_WRONG_TYPE, hm_map_put(doc, NULL, hm_str("a"), value));
  FAILS(HM_ARGUMENT, hm_map_put_object(doc, NULL, hm_str("a"), HM_KIND_STR, NULL));
  FAILS(HM_RANGE, hm_list_put(doc, list, 77, true, hm_null()));
  FAILS(HM_RANGE, hm_list_delete(doc, list, SIZE_MAX));
  FAILS(HM_UNKNOWN, hm_map_increment(doc, NULL, hm_str("title"), 1));
  FAILS(HM_WRONG_TYPE, hm_splice_text(doc, NULL, 0, 0, hm_str("a")));
  hm_obj_id *elsewhere;
  FAILS(HM_MALFORMED, hm_obj_id_parse(hm_str("nowhere"), &elsewhere));
  OK(hm_obj_id_parse(hm_str("99@abcd"), &elsewhere));
  FAILS(HM_UNKNOWN, hm_map_get(doc, elsewhere, hm_str("a"), NULL, &items));
  FAILS(HM_UNKNOWN, hm_obj_size(doc, elsewhere, NULL, &size));
  FAILS(HM_UNKNOWN, hm_map_put(doc, elsewhere, hm_str("a"), hm_null()));
  hm_bytes *text;
  OK(hm_obj_id_text(elsewhere, &text));
  CHECK(strcmp((const char *)text->data, "99@abcd") == 0);
  hm_bytes_free(text);
  hm_obj_id_free(elsewhere);
  hm_change_hash hash = {{1}};
  hm_hashes heads = {&hash, 1, NULL}, lost = {NULL, 1, NULL};
  FAILS(HM_UNKNOWN, hm_map_get(doc, NULL, hm_str("a"), &heads, &items));
  FAILS(HM_ARGUMENT, hm_map_get(doc, NULL, hm_str("a"), &lost, &items));
  hm_doc *other;
  FAILS(HM_UNKNOWN, hm_doc_fork(doc, &heads, &other));
  CHECK(other == NULL);
  FAILS(HM_ARGUMENT, hm_doc_merge(doc, NULL));
  FAILS(HM_ARGUMENT, hm_doc_merge(NULL, doc));
  OK(hm_doc_merge(doc, doc));
  hm_error *error = hm_doc_load(hm_str("this is no document at all"), NULL, &other);
  CHECK(hm_error_code(error) == HM_MALFORMED && hm_error_place(error) == 0 && other == NULL);
  hm_error_free(error);
  hm_doc_options options = {.text_encoding = 9};
  FAILS(HM_ARGUMENT, hm_doc_create(&options, &other));
  FAILS(HM_ARGUMENT, hm_doc_create(NULL, NULL));
  hm_span chunks[] = {hm_str("no change")};
  FAILS(HM_MALFORMED, hm_doc_apply_changes(doc, hm_spans_of(chunks, 1)));
  hm_doc_free(NULL), hm_items_free(NULL), hm_obj_id_free(NULL), hm_hashes_free(NULL);
}

static void files_and_forks(hm_doc *doc, const hm_obj_id *text, const char *path) {
  hm_bytes *saved;
  OK(hm_doc_save(doc, &saved));
  FILE *file = fopen(path, "wb");
  CHECK(file && fwrite(saved->data, 1, saved->len, file) == saved->len && fclose(file) == 0);
  hm_hashes *before, *after;
  OK(hm_doc_get_heads(doc, &before));
  hm_doc *fork, *loaded;
  OK(hm_doc_fork(doc, NULL, &fork));
  OK(hm_doc_load(hm_view(saved), NULL, &loaded));
  // With limits that it exceeds.
  hm_doc_options narrow = {.text_encoding = HM_TEXT_UTF8, .limits = {.operations = 3, .total = 3, .parallel_from = UINT64_MAX}};
  hm_doc *none;
  FAILS(HM_LIMIT, hm_doc_load(hm_view(saved), &narrow, &none));
  hm_bytes_free(saved);
  OK(hm_doc_save(fork, &saved));
  hm_bytes_free(saved);
  OK(hm_splice_text(fork, text, 0, 5, hm_str("Greetings")));
  OK(hm_map_put(fork, NULL, hm_str("title"), hm_string(hm_str("theirs"))));
  OK(hm_doc_save_incremental(fork, &saved));
  size_t operations;
  OK(hm_doc_load_incremental(loaded, hm_view(saved), &operations));
  CHECK(operations > 0);
  hm_bytes_free(saved);
  OK(hm_map_put(doc, NULL, hm_str("title"), hm_string(hm_str("ours"))));
  OK(hm_doc_merge(doc, fork));
  OK(hm_doc_merge(loaded, doc));
  hm_doc_free(fork);
  hm_items *all;
  OK(hm_map_get_all(loaded, NULL, hm_str("title"), NULL, &all));
  CHECK(all->len == 2 && all->items[0].conflict);
  hm_items_free(all);
  expect_text(loaded, text, NULL, "Greetings to all of you");
  expect_text(loaded, text, before, "Hello to all of you");
  OK(hm_doc_get_heads(loaded, &after));
  CHECK(after->len == 2 && before->len == 1);
  hm_hashes *missing;
  OK(hm_doc_get_missing_deps(loaded, after, &missing));
  CHECK(missing->len == 0);
  hm_hashes_free(missing);
  hm_doc_free(loaded);
  hm_hashes_free(before);
  hm_hashes_free(after);
  OK(hm_map_put(doc, NULL, hm_str("gone"), hm_int(1)));
  OK(hm_doc_rollback(doc, &operations));
  CHECK(operations == 1);
  hm_bytes *actor;
  OK(hm_doc_set_actor(doc, hm_str("somebody")));
  OK(hm_doc_get_actor(doc, &actor));
  CHECK(is(hm_view(actor), "somebody"));
  hm_bytes_free(actor);
}

static void *thread(void *shared) {
  for (int n = 0; n < 50; n++) {
    hm_items *items;
    OK(hm_map_range(shared, NULL, nothing(), nothing(), NULL, &items));
    CHECK(items->len == 6);
    hm_doc *own = doc_by(NULL);
    OK(hm_map_put(own, NULL, hm_str("a"), items->items[0].value));
    hm_items_free(items);
    hm_doc_free(own);
  }
  return NULL;
}

// The sanitizer reports leaks at the end of the program.
static void again_and_again(hm_doc *doc, const hm_obj_id *list) {
  for (int n = 0; n < ROUNDS; n++) {
    hm_items *items;
    hm_obj_id *id;
    OK(hm_list_range(doc, list, 0, 3, NULL, &items));
    OK(hm_obj_id_clone(items->items[n % 3].id, &id));
    hm_items_free(items);
    hm_obj_id_free(id);
    FAILS(HM_UNKNOWN, hm_map_increment(doc, NULL, hm_str("nothing there"), 1));
  }
}

int main(int count, char **arguments) {
  CHECK(count == 2);
  hm_doc *doc = doc_by("sixteen bytes ok");
  hm_obj_id *list, *text;
  edit(doc, &list, &text);
  reading(doc, list, text);
  wrong_arguments(doc, list);
  reading(doc, list, text);
  pthread_t threads[THREADS];
  for (int n = 0; n < THREADS; n++) CHECK(pthread_create(&threads[n], NULL, thread, doc) == 0);
  for (int n = 0; n < THREADS; n++) CHECK(pthread_join(threads[n], NULL) == 0);
  again_and_again(doc, list);
  files_and_forks(doc, text, arguments[1]);
  hm_doc_free(doc);
  hm_obj_id_free(list);
  hm_obj_id_free(text);
  puts("done");
}
