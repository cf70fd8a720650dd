// What programs were compiled with must not change unseen: sizes, places and numbers of hashmill.h where pointers have 64 bits.
#include <hashmill.h>

#define AT(type, field, place) _Static_assert(offsetof(type, field) == place, #type "." #field)
#define SIZE(type, bytes) _Static_assert(sizeof(type) == bytes, #type)

SIZE(hm_span, 16);
AT(hm_span, data, 0);
AT(hm_span, len, 8);
SIZE(hm_spans, 16);
AT(hm_spans, items, 0);
AT(hm_spans, len, 8);
SIZE(hm_room, 16);
AT(hm_room, data, 0);
AT(hm_room, len, 8);
SIZE(hm_bytes, 24);
AT(hm_bytes, data, 0);
AT(hm_bytes, len, 8);
AT(hm_bytes, owner, 16);
SIZE(hm_function, 24);
AT(hm_function, mode, 0);
AT(hm_function, key, 8);
SIZE(hm_file_options, 12);
AT(hm_file_options, threads, 0);
AT(hm_file_options, map, 4);
AT(hm_file_options, keep_going, 8);
SIZE(hm_file_digest, 48);
AT(hm_file_digest, bytes, 0);
AT(hm_file_digest, len, 32);
AT(hm_file_digest, error, 40);
SIZE(hm_file_digests, 24);
AT(hm_file_digests, items, 0);
AT(hm_file_digests, len, 8);
SIZE(hm_policy, 24);
AT(hm_policy, variant, 0);
AT(hm_policy, memory_kib, 4);
AT(hm_policy, passes, 8);
AT(hm_policy, lanes, 12);
AT(hm_policy, salt_len, 16);
AT(hm_policy, tag_len, 20);
SIZE(hm_password_options, 48);
AT(hm_password_options, secret, 0);
AT(hm_password_options, memory_budget_kib, 16);
AT(hm_password_options, most_memory_kib, 24);
AT(hm_password_options, most_passes, 28);
AT(hm_password_options, most_lanes, 32);
AT(hm_password_options, lenient, 36);
AT(hm_password_options, most_work_kib, 40);
SIZE(hm_verdict, 16);
AT(hm_verdict, error, 0);
AT(hm_verdict, upgrade, 8);
SIZE(hm_verdicts, 24);
AT(hm_verdicts, items, 0);
AT(hm_verdicts, len, 8);
SIZE(hm_change_hash, 32);
AT(hm_change_hash, bytes, 0);
SIZE(hm_hashes, 24);
AT(hm_hashes, items, 0);
AT(hm_hashes, len, 8);
AT(hm_hashes, owner, 16);
SIZE(hm_doc_limits, 48);
AT(hm_doc_limits, inflated_bytes, 0);
AT(hm_doc_limits, operations, 8);
AT(hm_doc_limits, total, 16);
AT(hm_doc_limits, changes, 24);
AT(hm_doc_limits, steps, 32);
AT(hm_doc_limits, parallel_from, 40);
SIZE(hm_doc_options, 72);
AT(hm_doc_options, actor, 0);
AT(hm_doc_options, text_encoding, 16);
AT(hm_doc_options, keep_partial, 20);
AT(hm_doc_options, limits, 24);
SIZE(hm_value, 48);
AT(hm_value, kind, 0);
AT(hm_value, type_code, 4);
AT(hm_value, integer, 8);
AT(hm_value, natural, 16);
AT(hm_value, real, 24);
AT(hm_value, bytes, 32);
SIZE(hm_item, 88);
AT(hm_item, key, 0);
AT(hm_item, index, 16);
AT(hm_item, value, 24);
AT(hm_item, id, 72);
AT(hm_item, conflict, 80);
SIZE(hm_items, 24);
AT(hm_items, items, 0);
AT(hm_items, len, 8);

_Static_assert(HM_OK == 0 && HM_ARGUMENT == 1 && HM_NOT_UTF8 == 2 && HM_INTERNAL == 3 && HM_MEMORY == 4, "codes");
_Static_assert(HM_SYSTEM == 5 && HM_MISMATCH == 6 && HM_MALFORMED == 7 && HM_LIMIT == 8 && HM_CHANGED == 9, "codes");
_Static_assert(HM_MODE_HASH == 0 && HM_MODE_KEYED == 1 && HM_MODE_DERIVE == 2, "modes");
_Static_assert(HM_UNKNOWN == 10 && HM_WRONG_TYPE == 11 && HM_RANGE == 12 && HM_CONTRADICTION == 13 && HM_MISSING == 14, "codes");
_Static_assert(HM_KIND_NULL == 0 && HM_KIND_BOOLEAN == 1 && HM_KIND_INT == 2 && HM_KIND_UINT == 3 && HM_KIND_F64 == 4, "kinds");
_Static_assert(HM_KIND_STR == 5 && HM_KIND_BYTES == 6 && HM_KIND_COUNTER == 7 && HM_KIND_TIMESTAMP == 8, "kinds");
_Static_assert(HM_KIND_UNKNOWN == 9 && HM_KIND_MAP == 16 && HM_KIND_TABLE == 17 && HM_KIND_LIST == 18 && HM_KIND_TEXT == 19, "kinds");

int main(void) { return 0; }
