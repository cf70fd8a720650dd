/* The ABI of existing programs: sizes, values and offsets. A difference is a compile error, in C89 and in C++. */
#include <argon2.h>

#define HOLDS(name, what) typedef char name[(what) ? 1 : -1]
#define AT(field, place) HOLDS(at_##field, sizeof(void *) != 8 || offsetof(argon2_context, field) == (place))

AT(out, 0);
AT(outlen, 8);
AT(pwd, 16);
AT(pwdlen, 24);
AT(salt, 32);
AT(saltlen, 40);
AT(secret, 48);
AT(secretlen, 56);
AT(ad, 64);
AT(adlen, 72);
AT(t_cost, 76);
AT(m_cost, 80);
AT(lanes, 84);
AT(threads, 88);
AT(version, 92);
AT(allocate_cbk, 96);
AT(free_cbk, 104);
AT(flags, 112);
HOLDS(size, sizeof(void *) != 8 || sizeof(argon2_context) == 120);
HOLDS(types, Argon2_d == 0 && Argon2_i == 1 && Argon2_id == 2 && sizeof(argon2_type) == 4);
HOLDS(versions, ARGON2_VERSION_10 == 16 && ARGON2_VERSION_13 == 19 && ARGON2_VERSION_NUMBER == 19);
HOLDS(codes, ARGON2_OK == 0 && ARGON2_VERIFY_MISMATCH == -35 && ARGON2_MEMORY_ALLOCATION_ERROR == -22);
HOLDS(flags_, ARGON2_FLAG_CLEAR_PASSWORD == 1 && ARGON2_FLAG_CLEAR_SECRET == 2);

int main(void) { return 0; }
