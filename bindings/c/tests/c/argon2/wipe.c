/* What the program of the reference implementation takes from its sources, for where it is linked with a shared library. */
#include <stddef.h>

void clear_internal_memory(void *memory, size_t len);

void clear_internal_memory(void *memory, size_t len) {
    volatile unsigned char *byte = memory;
    while (memory && len--) *byte++ = 0;
}
