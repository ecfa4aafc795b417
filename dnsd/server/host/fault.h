/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mapped files that others may truncate
 *
 * A read of a page that the file does not have any more raises SIGBUS.  The
 * handler sets "lost" of the mapping and maps a page of zeros there.  Readers
 * check it before they use what they have read.
 */
#ifndef DNSD_SERVER_HOST_FAULT_H
#define DNSD_SERVER_HOST_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct DnsdMapping {
    const uint8_t *base;
    size_t len;
    atomic_bool lost;
    _Atomic(atomic_bool *) failed;      /* set as well; or NULL */
    _Atomic(struct DnsdMapping *) next;
    struct DnsdMapping *previous;       /* the signal handler does not use it */
} DnsdMapping;

/**
 * dnsd_fault_init: install the handler of SIGBUS
 * @wake: an eventfd that is written to when a page is lost
 */
int dnsd_fault_init(int wake);

/** dnsd_fault_add: watch a mapping */
void dnsd_fault_add(DnsdMapping *mapping);

/** dnsd_fault_tell: set @failed together with "lost"; at once if it is set */
void dnsd_fault_tell(DnsdMapping *mapping, atomic_bool *failed);

/** dnsd_fault_remove: stop watching; no thread may read the mapping */
void dnsd_fault_remove(DnsdMapping *mapping);

#endif /* DNSD_SERVER_HOST_FAULT_H */
