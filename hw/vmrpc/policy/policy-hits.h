/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often each statement of the policy file has decided
 *
 * Thread safety: none; the owner serialises all calls.
 */
#ifndef HW_VMRPC_POLICY_HITS_H
#define HW_VMRPC_POLICY_HITS_H

#include <stdint.h>
#include <glib.h>

#include "hw/vmrpc/policy/policy.h"

/* An allow, deny, default or dns statement */
typedef struct VmrpcPolicyHits {
    unsigned line;
    char *text;                 /* its words, one blank between them */
    uint64_t destinations;      /* allowed or refused by it */
    uint64_t names;             /* lookups refused by it */
    VmrpcTerms *terms;          /* of a rule; NULL: none */
    /* In a copy: what its budgets have spent of the hour that began last. */
    uint64_t sent, names_asked;
} VmrpcPolicyHits;

/**
 * vmrpc_policy_count: count a destination for the statement that decided
 * @policy: may be NULL
 * @why: from vmrpc_policy_check(); without a line, nothing is counted
 */
void vmrpc_policy_count(VmrpcPolicy *policy, const VmrpcVerdict *why);

/**
 * vmrpc_policy_count_name: count a lookup that was refused
 * @policy: may be NULL
 * @why: from vmrpc_policy_check_name()
 */
void vmrpc_policy_count_name(VmrpcPolicy *policy, const VmrpcVerdict *why);

/**
 * vmrpc_policy_inherit: take over the counts of an older policy
 * @policy: the new policy
 * @old: the policy that it replaces; may be NULL
 *
 * Statements with equal words are the same statement, in any line.  Hourly
 * budgets are shared with the old policy, whose sockets go on to use them.
 */
void vmrpc_policy_inherit(VmrpcPolicy *policy, const VmrpcPolicy *old);

/**
 * vmrpc_policy_copy_hits: all statements that can decide, with their counts
 * @policy: may be NULL
 *
 * Returns: an array of VmrpcPolicyHits, by line; free with g_array_unref().
 */
GArray *vmrpc_policy_copy_hits(const VmrpcPolicy *policy);

/* Octets of what is saved of all budgets */
#define VMRPC_SAVED_BUDGETS_MAX (16 << 20)
/* Names of these; a rule with too many for that counts its names again. */
#define VMRPC_SAVED_BUDGET_NAMES_MAX 20000

/**
 * vmrpc_policy_save_budgets: what budgets have spent of an hour that lasts
 * @policy: may be NULL
 * @now_us: as for vmrpc_hourly_take()
 *
 * Returns: at most VMRPC_SAVED_BUDGETS_MAX octets; NULL: nothing was spent.
 */
GBytes *vmrpc_policy_save_budgets(const VmrpcPolicy *policy, int64_t now_us);

/**
 * vmrpc_policy_restore_budgets: the same was spent, and the hours last as long
 * @policy: statements with equal words are the same; may be NULL
 * @saved: by another policy
 * @now_us: of the clock here
 *
 * Returns: false for what no vmrpc_policy_save_budgets() can have made; a part
 * of it may be in force then.
 */
bool vmrpc_policy_restore_budgets(VmrpcPolicy *policy, GBytes *saved,
                                  int64_t now_us);

/* For policy.c: an empty list of VmrpcPolicyHits */
GArray *vmrpc_policy_hits_new(void);

/*
 * For the parser: adds a statement that can decide, behind all others; takes
 * @text.  @terms: of a rule, or NULL
 */
void vmrpc_policy_note(VmrpcPolicy *policy, unsigned line, char *text,
                       VmrpcTerms *terms);

#endif /* HW_VMRPC_POLICY_HITS_H */
