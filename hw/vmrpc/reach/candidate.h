/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc reach: a place that a connection could go to
 */
#ifndef HW_VMRPC_CANDIDATE_H
#define HW_VMRPC_CANDIDATE_H

#include <netinet/in.h>
#include <stdbool.h>

typedef struct VmrpcCandidate {
    struct in6_addr addr6;
    in_port_t port;             /* network byte order */
    bool synthesized;           /* from IPv4: goes through the NAT64 */
} VmrpcCandidate;

#endif /* HW_VMRPC_CANDIDATE_H */
