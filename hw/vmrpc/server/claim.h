/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An address belongs to one VM of the host
 *
 * One thread uses all claims of a process, or a lock does.
 */
#ifndef VMRPC_CLAIM_H
#define VMRPC_CLAIM_H

#include <glib.h>
#include <netinet/in.h>
#include <stdbool.h>

typedef struct VmrpcClaim VmrpcClaim;

typedef enum VmrpcClaimError {
    VMRPC_CLAIM_ERROR_TAKEN,    /* another has the address; it is named */
    VMRPC_CLAIM_ERROR_FAILED,   /* unknown: the host lets us bind no socket */
} VmrpcClaimError;

#define VMRPC_CLAIM_ERROR       (vmrpc_claim_error_quark())

GQuark vmrpc_claim_error_quark(void);

/**
 * vmrpc_claim_new: a claim to an address, which is not made yet
 * @owner: our name, for others that want the address; a line of UTF-8
 *
 * Returns: NULL, with @errp, if this process has a claim to the address already
 */
VmrpcClaim *vmrpc_claim_new(const struct in6_addr *addr6, const char *owner,
                            GError **errp);

/** vmrpc_claim_free: also gives it up; NULL is allowed */
void vmrpc_claim_free(VmrpcClaim *c);

/**
 * vmrpc_claim_take: take the address, unless we have it
 *
 * If another process has it, asks for its name, and waits for a second at most;
 * not if @errp is NULL.
 *
 * Returns: whether we have it
 */
bool vmrpc_claim_take(VmrpcClaim *c, GError **errp);

/** vmrpc_claim_give_up: let others have it */
void vmrpc_claim_give_up(VmrpcClaim *c);

/**
 * vmrpc_claim_fd: readable when a process asks for the owner of the address
 *
 * Returns: -1 if we do not have it
 */
int vmrpc_claim_fd(const VmrpcClaim *c);

/** vmrpc_claim_answer: answer one question; does not wait */
void vmrpc_claim_answer(VmrpcClaim *c);

#endif /* VMRPC_CLAIM_H */
