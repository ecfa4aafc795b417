/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mappings that are kept free */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "dnsd/server/host/spare.h"

#define LIMIT   "/proc/sys/vm/max_map_count"

/* Neighbours that differ in protection are mappings of their own. */
void dnsd_spare_hold(DnsdSpare *spare, size_t count)
{
    size_t page = sysconf(_SC_PAGESIZE);

    *spare = (DnsdSpare) { NULL, count * page };
    spare->base = mmap(NULL, spare->len, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (spare->base == MAP_FAILED) {
        spare->base = NULL;
        return;
    }
    for (size_t i = 1; i < count; i += 2) {
        if (mprotect((uint8_t *)spare->base + i * page, page, PROT_READ) < 0) {
            return;
        }
    }
}

void dnsd_spare_free(DnsdSpare *spare)
{
    if (spare->base) {
        munmap(spare->base, spare->len);
    }
}

/* Returns 0 where the file is hidden (ProcSubset=pid). */
static unsigned long max_map_count(void)
{
    char text[24] = "";
    int fd = open(LIMIT, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

    if (fd >= 0) {
        close(fd);
    }
    return len > 0 ? strtoul(text, NULL, 10) : 0;
}

void dnsd_spare_why(int error, char *why, size_t why_len)
{
    unsigned long count = error == ENOMEM ? max_map_count() : 0;
    struct rlimit files;

    if (count) {
        snprintf(why, why_len, "cannot be mapped: %s: each zone takes a "
                 "mapping, of which vm.max_map_count allows %lu: raise it",
                 strerror(error), count);
    } else if (error == ENOMEM) {
        snprintf(why, why_len, "cannot be mapped: %s: each zone takes a "
                 "mapping: raise vm.max_map_count", strerror(error));
    } else if (error == EMFILE && !getrlimit(RLIMIT_NOFILE, &files)) {
        snprintf(why, why_len, "cannot be opened: %s: LimitNOFILE= allows "
                 "%llu: raise it", strerror(error),
                 (unsigned long long)files.rlim_cur);
    } else if (error == EMFILE) {
        snprintf(why, why_len, "cannot be opened: %s: raise LimitNOFILE=",
                 strerror(error));
    } else {
        snprintf(why, why_len, "%s", strerror(error));
    }
}
