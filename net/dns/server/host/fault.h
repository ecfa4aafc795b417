/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mapped files that others may cut short
 *
 * A page that a file no longer has raises SIGBUS in who reads it.  The handler
 * puts a page of zeros there and says in the mapping that it is "lost", which
 * readers look at before they believe what they have read.
 */
#ifndef NET_DNS_SERVER_HOST_FAULT_H
#define NET_DNS_SERVER_HOST_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct DnsdMapping {
    const uint8_t *base;
    size_t len;
    atomic_bool lost;
    _Atomic(atomic_bool *) failed;      /* set with it; or NULL */
    _Atomic(struct DnsdMapping *) next;
} DnsdMapping;

/**
 * dnsd_fault_init: take SIGBUS
 * @wake: an eventfd that is written to when a page is lost
 */
int dnsd_fault_init(int wake);

/** dnsd_fault_add: from now on */
void dnsd_fault_add(DnsdMapping *mapping);

/** dnsd_fault_tell: set @failed with "lost", at once if a page is. */
void dnsd_fault_tell(DnsdMapping *mapping, atomic_bool *failed);

/** dnsd_fault_remove: when no thread reads it any more. */
void dnsd_fault_remove(DnsdMapping *mapping);

#endif /* NET_DNS_SERVER_HOST_FAULT_H */
