/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mappings that are kept free
 *
 * Each image takes a mapping, and a process has at most vm.max_map_count of
 * them.  Threads, tables and buffers need some too: while images are mapped,
 * these hold their places.
 */
#ifndef DNSD_SERVER_HOST_SPARE_H
#define DNSD_SERVER_HOST_SPARE_H

#include <stddef.h>

typedef struct DnsdSpare {
    void *base;                 /* NULL: there was no place any more */
    size_t len;
} DnsdSpare;

/** dnsd_spare_hold: hold the places of @count mappings, or of what is left */
void dnsd_spare_hold(DnsdSpare *spare, size_t count);

/** dnsd_spare_free: leave them to others */
void dnsd_spare_free(DnsdSpare *spare);

/**
 * dnsd_spare_why: what a failed mmap() or open() wants from the operator
 * @error: an errno
 *
 * ENOMEM and EMFILE name the limit, with its value where it can be read.
 */
void dnsd_spare_why(int error, char *why, size_t why_len);

#endif /* DNSD_SERVER_HOST_SPARE_H */
