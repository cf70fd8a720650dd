// Marks, cursors, patches, changes and syncs.
#include "../check.h"

static int is(hm_span span, const char *text) { return span.len == strlen(text) && memcmp(span.data, text, span.len) == 0; }

static void text_of(const hm_doc *doc, const hm_obj_id *obj, const char *expected) {
  hm_bytes *text;
  OK(hm_text(doc, obj, NULL, &text));
  CHECK(strcmp((const char *)text->data, expected) == 0);
  hm_bytes_free(text);
}

static void marks(hm_doc *doc, const hm_obj_id *text) {
  OK(hm_mark_create(doc, text, 0, 5, HM_EXPAND_AFTER, hm_str("bold"), hm_boolean(true)));
  OK(hm_mark_create(doc, text, 6, 9, HM_EXPAND_NONE, hm_str("link"), hm_string(hm_str("there"))));
  hm_marks *marks;
  OK(hm_get_marks(doc, text, NULL, &marks));
  CHECK(marks->len == 2 && is(marks->items[0].name, "bold") && marks->items[0].end == 5);
  CHECK(is(marks->items[1].value.bytes, "there"));
  hm_marks_free(marks);
  OK(hm_mark_clear(doc, text, 0, 5, HM_EXPAND_AFTER, hm_str("bold")));
  OK(hm_get_marks(doc, text, NULL, &marks));
  CHECK(marks->len == 1);
  hm_marks_free(marks);
  FAILS(HM_ARGUMENT, hm_mark_create(doc, text, 0, 5, 4, hm_str("bold"), hm_null()));
  FAILS(HM_RANGE, hm_mark_create(doc, text, 5, 2, 0, hm_str("bold"), hm_null()));
  FAILS(HM_WRONG_TYPE, hm_get_marks(doc, NULL, NULL, &marks));
  CHECK(marks == NULL);
  hm_marks_free(NULL);
}

static void cursors(hm_doc *doc, const hm_obj_id *text) {
  hm_bytes *cursor, *end, *nowhere;
  size_t index;
  OK(hm_get_cursor(doc, text, 6, NULL, &cursor));
  OK(hm_get_cursor(doc, text, SIZE_MAX, NULL, &end));
  OK(hm_splice_text(doc, text, 0, 0, hm_str("> ")));
  OK(hm_get_cursor_position(doc, text, hm_view(cursor), NULL, &index));
  CHECK(index == 8);
  OK(hm_get_cursor_position(doc, text, hm_view(end), NULL, &index));
  CHECK(index == 11);
  FAILS(HM_MALFORMED, hm_get_cursor_position(doc, text, hm_str("?"), NULL, &index));
  FAILS(HM_MALFORMED, hm_get_cursor_position(doc, text, nothing(), NULL, &index));
  FAILS(HM_WRONG_TYPE, hm_get_cursor(doc, NULL, 0, NULL, &nowhere));
  CHECK(nowhere == NULL);
  hm_bytes_free(end);
  hm_bytes_free(cursor);
}

static void patches(hm_doc *doc, const hm_obj_id *text) {
  hm_patches *found;
  OK(hm_doc_diff_incremental(doc, &found));
  CHECK(found->len > 0);
  hm_patches_free(found);
  hm_hashes *before, *after;
  OK(hm_doc_get_heads(doc, &before));
  OK(hm_map_put(doc, NULL, hm_str("count"), hm_counter(1)));
  OK(hm_splice_text(doc, text, 0, 2, hm_str("- ")));
  OK(hm_doc_get_heads(doc, &after));
  OK(hm_doc_diff(doc, before, after, &found));
  int puts = 0, splices = 0, deletes = 0;
  for (size_t n = 0; n < found->len; n++) {
    const hm_patch *patch = &found->items[n];
    if (patch->kind == HM_PATCH_PUT_MAP) {
      puts++;
      CHECK(is(patch->key, "count") && patch->items_len == 1 && patch->items[0].value.integer == 1 && hm_obj_id_equal(patch->obj, NULL));
    } else if (patch->kind == HM_PATCH_SPLICE_TEXT) {
      splices++;
      CHECK(is(patch->text, "- ") && hm_obj_id_equal(patch->obj, text));
    } else if (patch->kind == HM_PATCH_DELETE_LIST) {
      deletes++;
      CHECK(patch->length == 2);
    }
  }
  CHECK(puts == 1 && splices == 1 && deletes == 1);
  hm_patches_free(found);
  OK(hm_map_increment(doc, NULL, hm_str("count"), 4));
  OK(hm_doc_diff_incremental(doc, &found));
  CHECK(found->len >= 3);
  hm_patches_free(found);
  FAILS(HM_ARGUMENT, hm_doc_diff(doc, NULL, after, &found));
  CHECK(found == NULL);
  hm_patches_free(NULL);
  hm_hashes_free(before);
  hm_hashes_free(after);
}

static void changes(hm_doc *doc, const hm_obj_id *text) {
  hm_changes *changes, *one;
  OK(hm_doc_get_changes(doc, NULL, &changes));
  CHECK(changes->len > 1 && changes->items[0].seq == 1 && changes->items[0].deps_len == 0 && changes->items[1].deps_len == 1);
  CHECK(is(changes->items[0].message, "begin") && changes->items[0].time == 9 && is(changes->items[0].actor, "one of us"));
  CHECK(memcmp(changes->items[1].deps, &changes->items[0].hash, 32) == 0);
  OK(hm_doc_get_change_by_hash(doc, &changes->items[1].hash, &one));
  CHECK(one->len == 1 && one->items[0].seq == 2);
  hm_changes_free(one);
  hm_change_hash nobody = {{9}};
  OK(hm_doc_get_change_by_hash(doc, &nobody, &one));
  CHECK(one->len == 0);
  hm_changes_free(one);
  hm_doc *copy;
  OK(hm_doc_create(NULL, &copy));
  hm_span *chunks = malloc(changes->len * sizeof *chunks);
  for (size_t n = 0; n < changes->len; n++) chunks[n] = changes->items[changes->len - 1 - n].bytes;
  // The last one waits for the others.
  OK(hm_doc_apply_changes(copy, hm_spans_of(chunks, 1)));
  hm_hashes *missing;
  OK(hm_doc_get_missing_deps(copy, NULL, &missing));
  CHECK(missing->len == 1);
  hm_hashes_free(missing);
  OK(hm_doc_apply_changes(copy, hm_spans_of(chunks, changes->len)));
  free(chunks);
  hm_changes_free(changes);
  text_of(copy, text, "- Hello you");
  hm_doc_free(copy);
  FAILS(HM_ARGUMENT, hm_doc_get_change_by_hash(doc, NULL, &one));
}

static void syncs(hm_doc *doc, const hm_obj_id *text) {
  hm_doc *peer;
  hm_sync_state *ours, *theirs, *again;
  OK(hm_doc_create(NULL, &peer));
  OK(hm_map_put(peer, NULL, hm_str("theirs"), hm_int(1)));
  OK(hm_sync_state_create(&ours));
  OK(hm_sync_state_create(&theirs));
  for (int round = 0; round < 20; round++) {
    hm_bytes *there, *back;
    OK(hm_generate_sync_message(doc, ours, &there));
    hm_hashes *refused;
    if (there) {
      OK(hm_receive_sync_message(peer, theirs, hm_view(there), &refused));
      CHECK(refused->len == 0);
      hm_hashes_free(refused);
    }
    OK(hm_generate_sync_message(peer, theirs, &back));
    if (back) OK(hm_receive_sync_message(doc, ours, hm_view(back), NULL));
    bool done = !there && !back;
    hm_bytes_free(there);
    hm_bytes_free(back);
    if (done) break;
    CHECK(round < 19);
  }
  text_of(peer, text, "- Hello you");
  hm_hashes *heads, *shared;
  OK(hm_doc_get_heads(peer, &heads));
  OK(hm_sync_state_shared_heads(ours, &shared));
  CHECK(shared->len == heads->len && memcmp(shared->items, heads->items, 32 * heads->len) == 0);
  hm_hashes_free(heads);
  hm_hashes_free(shared);
  hm_bytes *kept;
  OK(hm_sync_state_encode(ours, &kept));
  OK(hm_sync_state_decode(hm_view(kept), &again));
  hm_bytes_free(kept);
  FAILS(HM_MALFORMED, hm_receive_sync_message(doc, again, hm_str("hello"), NULL));
  FAILS(HM_ARGUMENT, hm_receive_sync_message(doc, NULL, hm_str("hello"), NULL));
  FAILS(HM_ARGUMENT, hm_generate_sync_message(NULL, again, &kept));
  hm_sync_state_free(again);
  FAILS(HM_MALFORMED, hm_sync_state_decode(hm_str("hello"), &again));
  CHECK(again == NULL);
  hm_doc_free(peer);
  hm_sync_state_free(ours);
  hm_sync_state_free(theirs);
  hm_sync_state_free(NULL);
}

int main(void) {
  hm_doc_options options = {.actor = hm_str("one of us")};
  hm_doc *doc;
  hm_obj_id *text;
  OK(hm_doc_create(&options, &doc));
  OK(hm_map_put_object(doc, NULL, hm_str("text"), HM_KIND_TEXT, &text));
  OK(hm_splice_text(doc, text, 0, 0, hm_str("Hello you")));
  OK(hm_doc_commit(doc, hm_str("begin"), 9, NULL, NULL));
  marks(doc, text);
  cursors(doc, text);
  patches(doc, text);
  changes(doc, text);
  syncs(doc, text);
  hm_doc_free(doc);
  hm_obj_id_free(text);
  puts("done");
}
