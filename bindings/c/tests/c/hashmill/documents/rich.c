// Blocks, paths, moving cursors, authors, isolation, and contents of changes and messages.
#include "../check.h"

static int is(hm_span span, const char *text) { return span.len == strlen(text) && memcmp(span.data, text, span.len) == 0; }

static void blocks(hm_doc *doc, const hm_obj_id *text) {
  hm_obj_id *block, *other;
  OK(hm_split_block(doc, text, 5, &block));
  OK(hm_map_put(doc, block, hm_str("type"), hm_string(hm_str("heading"))));
  OK(hm_mark_create(doc, text, 0, 5, HM_EXPAND_AFTER, hm_str("bold"), hm_boolean(true)));
  hm_parts *parts;
  OK(hm_get_parts(doc, text, NULL, &parts));
  CHECK(parts->len == 3 && is(parts->items[0].text, "Hello") && !parts->items[0].block && parts->items[0].marks_len == 1);
  CHECK(is(parts->items[0].marks[0].name, "bold") && parts->items[0].marks[0].value.integer == 1);
  CHECK(hm_obj_id_equal(parts->items[1].block, block) && is(parts->items[1].text, "\xef\xbf\xbc") && parts->items[1].marks_len == 0);
  CHECK(is(parts->items[2].text, " you") && parts->items[2].marks_len == 0);
  // A path outlives the parts, the block and the document's next state.
  hm_path *path;
  OK(hm_obj_path(doc, parts->items[1].block, NULL, &path));
  hm_parts_free(parts);
  CHECK(path->len == 2 && is(path->items[0].key, "text") && !path->items[0].in_list && path->items[1].in_list && path->items[1].index == 5);
  CHECK(hm_obj_id_equal(path->items[0].obj, NULL) && hm_obj_id_equal(path->items[1].obj, text));
  hm_path_free(path);
  OK(hm_replace_block(doc, text, 5, &other));
  CHECK(!hm_obj_id_equal(block, other));
  hm_obj_id_free(other);
  OK(hm_obj_path(doc, block, NULL, &path));
  CHECK(path->len == 0);
  hm_path_free(path);
  OK(hm_join_block(doc, text, 5));
  OK(hm_get_parts(doc, text, NULL, &parts));
  CHECK(parts->len == 2 && !parts->items[1].block);
  hm_parts_free(parts);
  OK(hm_split_block(doc, text, 0, NULL));
  OK(hm_join_block(doc, text, 0));
  hm_marks *marks;
  OK(hm_get_marks_at(doc, text, 2, NULL, &marks));
  CHECK(marks->len == 1 && is(marks->items[0].name, "bold"));
  hm_marks_free(marks);
  FAILS(HM_WRONG_TYPE, hm_split_block(doc, NULL, 0, &other));
  CHECK(other == NULL);
  FAILS(HM_RANGE, hm_split_block(doc, text, SIZE_MAX, &other));
  FAILS(HM_WRONG_TYPE, hm_join_block(doc, text, 1));
  FAILS(HM_WRONG_TYPE, hm_get_parts(doc, NULL, NULL, &parts));
  CHECK(parts == NULL);
  hm_obj_id_free(block);
}

static void cursors(hm_doc *doc, const hm_obj_id *text) {
  hm_bytes *start, *before, *after, *written, *same;
  size_t index;
  OK(hm_get_cursor(doc, text, HM_CURSOR_START, NULL, &start));
  OK(hm_get_cursor_moving(doc, text, 2, HM_MOVE_BEFORE, NULL, &before));
  OK(hm_get_cursor_moving(doc, text, 2, HM_MOVE_AFTER, NULL, &after));
  OK(hm_splice_text(doc, text, 1, 3, nothing()));
  OK(hm_get_cursor_position(doc, text, hm_view(before), NULL, &index));
  CHECK(index == 0);
  OK(hm_get_cursor_position(doc, text, hm_view(after), NULL, &index));
  CHECK(index == 1);
  OK(hm_splice_text(doc, text, 0, 0, hm_str("> ")));
  OK(hm_get_cursor_position(doc, text, hm_view(start), NULL, &index));
  CHECK(index == 0);
  OK(hm_cursor_text(hm_view(before), &written));
  CHECK(written->data[0] == '-' && strchr((const char *)written->data, '@'));
  OK(hm_cursor_parse(hm_view(written), &same));
  CHECK(same->len == before->len && memcmp(same->data, before->data, same->len) == 0);
  hm_bytes_free(written);
  hm_bytes_free(same);
  FAILS(HM_ARGUMENT, hm_get_cursor_moving(doc, text, 0, 2, NULL, &same));
  FAILS(HM_MALFORMED, hm_cursor_parse(hm_str("nowhere"), &same));
  FAILS(HM_MALFORMED, hm_cursor_text(hm_str("nowhere"), &same));
  FAILS(HM_NOT_UTF8, hm_cursor_parse(hm_str("\xff"), &same));
  CHECK(same == NULL);
  hm_bytes_free(start);
  hm_bytes_free(before);
  hm_bytes_free(after);
}

static void ways_of_patches(hm_doc *doc) {
  hm_hashes *before, *after;
  hm_obj_id *list, *map;
  hm_patches *patches;
  hm_path *path;
  OK(hm_doc_get_heads(doc, &before));
  OK(hm_map_put_object(doc, NULL, hm_str("list"), HM_KIND_LIST, &list));
  hm_value values[] = {hm_int(1), hm_string(hm_str("two")), hm_null()};
  OK(hm_splice(doc, list, 0, 0, hm_values_of(values, 3)));
  OK(hm_splice(doc, list, 2, -1, hm_values_of(values, 1)));
  size_t size;
  OK(hm_obj_size(doc, list, NULL, &size));
  CHECK(size == 3);
  OK(hm_list_put_object(doc, list, 1, true, HM_KIND_MAP, &map));
  OK(hm_map_put(doc, map, hm_str("a"), hm_int(1)));
  OK(hm_doc_get_heads(doc, &after));
  OK(hm_doc_diff(doc, before, after, &patches));
  size_t deepest = 0;
  for (size_t n = 0; n < patches->len; n++) {
    OK(hm_patches_path(patches, n, &path));
    if (path->len > deepest) deepest = path->len;
    if (hm_obj_id_equal(patches->items[n].obj, map)) {
      CHECK(path->len == 2 && is(path->items[0].key, "list") && path->items[1].in_list && path->items[1].index == 1);
    }
    hm_path_free(path);
  }
  CHECK(deepest == 2);
  FAILS(HM_RANGE, hm_patches_path(patches, patches->len, &path));
  FAILS(HM_RANGE, hm_patches_path(patches, SIZE_MAX, &path));
  FAILS(HM_ARGUMENT, hm_splice(doc, list, 0, 0, hm_values_of(NULL, 2)));
  FAILS(HM_ARGUMENT, hm_splice(doc, list, 0, 0, hm_values_of(values, SIZE_MAX)));
  // A path outlives its patches.
  OK(hm_patches_path(patches, 0, &path));
  hm_patches_free(patches);
  CHECK(path->len <= 2);
  hm_path_free(path);
  hm_hashes_free(before);
  hm_hashes_free(after);
  hm_obj_id_free(list);
  hm_obj_id_free(map);
}

static void authors(hm_doc *doc) {
  hm_bytes *author;
  hm_changes *changes, *same;
  OK(hm_doc_set_actor(doc, hm_str("another")));
  OK(hm_map_put(doc, NULL, hm_str("by"), hm_int(1)));
  OK(hm_map_put(doc, NULL, hm_str("and"), hm_int(2)));
  OK(hm_doc_commit_by(doc, hm_str("Ada"), hm_str("why"), 7, NULL, NULL));
  OK(hm_doc_get_author(doc, hm_str("another"), &author));
  CHECK(author && is(hm_view(author), "Ada"));
  hm_bytes_free(author);
  OK(hm_doc_get_author(doc, hm_str("nobody"), &author));
  CHECK(author == NULL);
  OK(hm_doc_get_last_local_change(doc, &changes));
  CHECK(changes->len == 1 && is(changes->items[0].author, "Ada") && is(changes->items[0].message, "why") && changes->items[0].operations == 2);
  OK(hm_changes_decode(hm_spans_of(&changes->items[0].bytes, 1), NULL, &same));
  CHECK(same->len == 1 && memcmp(&same->items[0].hash, &changes->items[0].hash, 32) == 0);
  hm_changes_free(same);
  hm_doc_limits narrow = {.operations = 1};
  FAILS(HM_LIMIT, hm_changes_decode(hm_spans_of(&changes->items[0].bytes, 1), &narrow, &same));
  CHECK(same == NULL);
  hm_changes_free(changes);
}

static void saved_and_isolated(hm_doc *doc) {
  hm_hashes *then;
  hm_bytes *bytes, *plain;
  hm_doc *peer;
  hm_changes *added;
  hm_items *items;
  OK(hm_doc_get_heads(doc, &then));
  OK(hm_doc_fork(doc, NULL, &peer));
  OK(hm_map_put(doc, NULL, hm_str("later"), hm_int(1)));
  OK(hm_doc_get_changes_added(peer, doc, &added));
  CHECK(added->len == 1);
  hm_changes_free(added);
  OK(hm_doc_get_changes_added(doc, doc, &added));
  CHECK(added->len == 0);
  hm_changes_free(added);
  OK(hm_doc_save_after(doc, then, &bytes));
  size_t operations;
  OK(hm_doc_load_incremental(peer, hm_view(bytes), &operations));
  CHECK(operations == 1);
  hm_bytes_free(bytes);
  OK(hm_doc_save(doc, &bytes));
  OK(hm_doc_save_nocompress(doc, &plain));
  CHECK(plain->len >= bytes->len);
  hm_bytes_free(bytes);
  hm_bytes_free(plain);
  FAILS(HM_ARGUMENT, hm_doc_save_after(doc, NULL, &bytes));
  OK(hm_doc_isolate(doc, then));
  OK(hm_map_get(doc, NULL, hm_str("later"), NULL, &items));
  CHECK(items->len == 0);
  hm_items_free(items);
  OK(hm_map_put(doc, NULL, hm_str("beside"), hm_int(1)));
  OK(hm_doc_integrate(doc));
  OK(hm_map_range(doc, NULL, hm_str("beside"), hm_str("lates"), NULL, &items));
  CHECK(items->len == 3);
  hm_items_free(items);
  hm_doc_free(peer);
  hm_hashes_free(then);
}

static void messages(hm_doc *doc) {
  hm_sync_state *state, *theirs;
  hm_doc *peer;
  hm_bytes *bytes;
  hm_sync_message *message;
  hm_hashes *heads, *known;
  bool read_only;
  OK(hm_doc_create(NULL, &peer));
  OK(hm_sync_state_create(&state));
  OK(hm_sync_state_create(&theirs));
  OK(hm_sync_state_their_heads(state, &known));
  CHECK(known == NULL);
  OK(hm_sync_state_set_read_only(state, true));
  OK(hm_generate_sync_message(doc, state, &bytes));
  OK(hm_sync_message_decode(hm_view(bytes), &message));
  OK(hm_doc_get_heads(doc, &heads));
  CHECK(message->heads_len == heads->len && memcmp(message->heads, heads->items, 32 * heads->len) == 0);
  CHECK(message->haves_len == 1 && message->haves[0].last_sync_len == 0 && message->needs_len == 0 && message->changes_len == 0);
  CHECK(message->read_only && !message->reset);
  OK(hm_sync_state_last_sent_heads(state, &known));
  CHECK(known->len == heads->len);
  hm_hashes_free(known);
  OK(hm_receive_sync_message(peer, theirs, hm_view(bytes), NULL));
  OK(hm_sync_state_is_peer_read_only(theirs, &read_only));
  CHECK(read_only);
  OK(hm_sync_state_their_heads(theirs, &known));
  CHECK(known && known->len == heads->len);
  hm_hashes_free(known);
  hm_bytes_free(bytes);
  hm_doc_free(peer);
  hm_sync_state_free(state);
  hm_sync_state_free(theirs);
  // The contents of a message outlive the bytes and the state.
  CHECK(message->heads[0].bytes[0] == heads->items[0].bytes[0]);
  hm_sync_message_free(message);
  hm_hashes_free(heads);
  FAILS(HM_MALFORMED, hm_sync_message_decode(hm_str("hello"), &message));
  CHECK(message == NULL);
}

int main(void) {
  hm_doc_options options = {.actor = hm_str("one of us")};
  hm_doc *doc;
  hm_obj_id *text;
  OK(hm_doc_create(&options, &doc));
  OK(hm_map_put_object(doc, NULL, hm_str("text"), HM_KIND_TEXT, &text));
  OK(hm_splice_text(doc, text, 0, 0, hm_str("Hello you")));
  blocks(doc, text);
  cursors(doc, text);
  ways_of_patches(doc);
  authors(doc);
  saved_and_isolated(doc);
  messages(doc);
  hm_doc_free(doc);
  hm_obj_id_free(text);
  puts("done");
}
