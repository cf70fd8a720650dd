/* A function that the reference implementation's program needs from its own sources when linked with a shared library. */
#include <stddef.h>

void clear_internal_memory(void *memory, size_t len);

void clear_internal_memory(void *memory, size_t len) {
    volatile unsigned char *byte = memory;
    while (memory && len--) *byte++ = 0;
}
