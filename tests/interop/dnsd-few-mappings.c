/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All mappings that vm.max_map_count allows, but as many as the environment
 * names as MAPPINGS_LEFT: preloaded into a program, before it has any of its
 * own
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define MOST        (1u << 20)
#define PAGE_LEN    4096u

static void __attribute__((constructor)) take(void)
{
    const char *left = getenv("MAPPINGS_LEFT");
    size_t keep = left ? strtoul(left, NULL, 10) : MOST, taken = 1;
    uint8_t *base = mmap(NULL, (size_t)MOST * PAGE_LEN, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (base == MAP_FAILED) {
        abort();
    }
    /* Neighbours that differ in protection are mappings of their own. */
    while (taken + 1 < MOST && !mprotect(base + taken * PAGE_LEN, PAGE_LEN,
                                         PROT_READ)) {
        taken += 2;
    }
    if (taken + 1 >= MOST || keep >= taken) {
        abort();
    }
    munmap(base + (taken - keep) * PAGE_LEN,
           (MOST - taken + keep) * (size_t)PAGE_LEN);
}
