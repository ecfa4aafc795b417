/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the DNS answers for a name lead on: aliases and targets of services
 *
 * A client that asks for www.example.org may be told to go on to
 * cdn.example.net (CNAME, HTTPS, SVCB, SRV), asks for that name's addresses,
 * and says www.example.org to the server there.  The owner of the first name
 * has written that the second one serves it, as it could have written the
 * addresses.
 *
 * Thread safety: none; the owner serialises all calls.
 */
#ifndef HW_VMRPC_TARGETS_H
#define HW_VMRPC_TARGETS_H

#include <stdbool.h>
#include <stddef.h>

#include "net/dns/wire/wire.h"

/* Pairs that a table remembers, the latest ones */
#define VMRPC_TARGETS_MAX       1024
/* Names that a walk visits, and how far it goes */
#define VMRPC_TARGETS_VISITS    16
#define VMRPC_TARGETS_DEPTH     8

typedef struct VmrpcTargets VmrpcTargets;

/** vmrpc_targets_new: an empty table, of 300 KiB; NULL: no memory */
VmrpcTargets *vmrpc_targets_new(void);

/** vmrpc_targets_free: @targets may be NULL. */
void vmrpc_targets_free(VmrpcTargets *targets);

/**
 * vmrpc_targets_note: the answer for @name says to go on to @target
 * @name: that the guest asked for.  Labels at its beginning that name a service
 *        ("_https", RFC 8552) are left out: a client says the rest.
 */
void vmrpc_targets_note(VmrpcTargets *targets, const DnsName *name,
                        const DnsName *target);

/**
 * vmrpc_targets_walk: where a name leads on
 * @targets: may be NULL, which has nothing
 * @found: the names, in lower case; valid until the next note
 *
 * Returns: how many there are, at most VMRPC_TARGETS_VISITS.
 */
size_t vmrpc_targets_walk(const VmrpcTargets *targets, const DnsName *name,
                          const DnsName *found[VMRPC_TARGETS_VISITS]);

#endif /* HW_VMRPC_TARGETS_H */
