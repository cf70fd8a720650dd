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

_Static_assert(HM_OK == 0 && HM_ARGUMENT == 1 && HM_NOT_UTF8 == 2 && HM_INTERNAL == 3 && HM_MEMORY == 4, "codes");
_Static_assert(HM_SYSTEM == 5 && HM_MISMATCH == 6 && HM_MALFORMED == 7 && HM_LIMIT == 8 && HM_CHANGED == 9, "codes");
_Static_assert(HM_MODE_HASH == 0 && HM_MODE_KEYED == 1 && HM_MODE_DERIVE == 2, "modes");

int main(void) { return 0; }
