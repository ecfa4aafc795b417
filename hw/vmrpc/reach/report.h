/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc reach: counts and traces refusals
 */
#ifndef HW_VMRPC_REPORT_H
#define HW_VMRPC_REPORT_H

#include <stdint.h>
#include <sys/socket.h>

#include "hw/vmrpc/reach/reach.h"

/* Why an address of the guest has no counterpart on the host's side. */
typedef enum VmrpcUnreachable {
    VMRPC_UNREACHABLE_OTHER,        /* not counted */
    VMRPC_UNREACHABLE_NO_MAPPING,   /* in pool4, and no peer has it */
    VMRPC_UNREACHABLE_NO_NAT64,     /* needs a NAT64 prefix; there is none */
} VmrpcUnreachable;

/** vmrpc_count_unreachable: count a destination that cannot be translated */
void vmrpc_count_unreachable(VmrpcReach *reach, struct in_addr guest,
                             VmrpcUnreachable why);

/**
 * vmrpc_pool_in_answer: report an A record with an address of pool4
 * @name: that the guest asked for
 */
void vmrpc_pool_in_answer(VmrpcReach *reach, struct in_addr addr4,
                          const DnsName *name);

/**
 * vmrpc_refused: count a refusal and pass it to the tracer
 * @counter: the counter of this reason; incremented
 */
void vmrpc_refused(VmrpcReach *reach, const VmrpcRefusal *refusal,
                   uint64_t *counter);

/**
 * vmrpc_refused_by_policy: report a destination that the policy refuses
 * @dest: the destination on the host's side, AF_INET6 or AF_INET
 * @error: positive errno of the guest's call
 * @why: the verdict; it also selects the counter
 * @name: a name of the destination; NULL: none is known
 */
void vmrpc_refused_by_policy(VmrpcReach *reach,
                             const struct sockaddr_storage *dest, int error,
                             const VmrpcVerdict *why, const char *name);

/**
 * vmrpc_refused_by_said: report a stream whose first bytes are refused
 * @dest: its peer
 * @reason: as vmrpc_said_reason() names it
 * @name: that the guest has said; NULL: none
 * @line: of the policy file; 0: none
 */
void vmrpc_refused_by_said(VmrpcReach *reach,
                           const struct sockaddr_storage *dest,
                           const char *reason, const char *name,
                           unsigned line);

/**
 * vmrpc_refused_by_limit: report that a limit refuses something
 * @dest: the destination on the host's side; NULL: none is known yet
 * @error: positive errno of the guest's call
 * @reason: the limit's name, for the tracer
 * @counter: the counter of this limit; incremented
 *
 * The report has the name by which the guest knows @dest, if there is one.
 */
void vmrpc_refused_by_limit(VmrpcReach *reach,
                            const struct sockaddr_storage *dest, int error,
                            const char *reason, uint64_t *counter);

#endif /* HW_VMRPC_REPORT_H */
