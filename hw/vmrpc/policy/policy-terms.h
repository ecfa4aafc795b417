/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses the terms of a rule, and "proxy" statements
 *
 * For policy-parse.c.  The functions set @errp and return false if a word is
 * wrong.
 */
#ifndef HW_VMRPC_POLICY_TERMS_H
#define HW_VMRPC_POLICY_TERMS_H

#include "hw/vmrpc/policy/policy-rules.h"

/* Is it the first word of a term? */
bool vmrpc_policy_is_term(const char *word);

/*
 * The @n words of a rule behind its ports; one or more.  Gives @rule its terms,
 * which belong to the caller then.
 */
bool vmrpc_policy_parse_terms(const VmrpcPolicy *policy, char **words, int n,
                              const VmrpcPolicyKey *key, VmrpcPolicyRule *rule,
                              GError **errp);

/* "proxy NAME socks5|http ADDR PORT [secret ID]" */
bool vmrpc_policy_parse_proxy(VmrpcPolicy *policy, char **words, int n,
                              GError **errp);

#endif /* HW_VMRPC_POLICY_TERMS_H */
