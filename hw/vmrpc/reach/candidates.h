/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc reach: the other addresses of a destination's name
 */
#ifndef HW_VMRPC_CANDIDATES_H
#define HW_VMRPC_CANDIDATES_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

#include "hw/vmrpc/reach/candidate.h"
#include "hw/vmrpc/reach/reach.h"

/**
 * vmrpc_dest_candidates: the addresses that a connection may try
 * @named: the address that the guest named, on the host's side
 * @candidates: filled in; @named comes first
 * @max: room in @candidates, at least 1
 * @terms: by which the policy allows @named; NULL: none
 *
 * The other candidates are addresses that all of the destination's names have
 * in common and that the policy allows by the same terms.
 *
 * Returns: how many, at least 1.
 */
size_t vmrpc_dest_candidates(VmrpcReach *reach,
                             const struct sockaddr_in6 *named,
                             VmrpcCandidate *candidates, size_t max,
                             const VmrpcTerms *terms);

/**
 * vmrpc_candidate_is_allowed: does the policy allow this candidate now?
 * @terms, @says: as for vmrpc_dest_is_allowed()
 *
 * Ask again right before a connection attempt: rules and routes may have
 * changed since vmrpc_dest_candidates().
 */
bool vmrpc_candidate_is_allowed(VmrpcReach *reach,
                                const VmrpcCandidate *candidate,
                                const VmrpcTerms *terms, VmrpcSays *says);

#endif /* HW_VMRPC_CANDIDATES_H */
