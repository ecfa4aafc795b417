/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often each rule has decided
 *
 * Beside the rules of policy.c there is a list in the order of the file: each
 * statement as it was written, with its counts.  A verdict has the line of the
 * statement; the list is searched by line.
 */
#include <string.h>

#include "hw/vmrpc/policy/policy-hits.h"
#include "hw/vmrpc/policy/policy-rules.h"

static void hits_clear(gpointer opaque)
{
    VmrpcPolicyHits *hits = opaque;

    g_free(hits->text);
    vmrpc_terms_unref(hits->terms);
}

GArray *vmrpc_policy_hits_new(void)
{
    GArray *hits = g_array_new(FALSE, FALSE, sizeof(VmrpcPolicyHits));

    g_array_set_clear_func(hits, hits_clear);
    return hits;
}

void vmrpc_policy_note(VmrpcPolicy *policy, unsigned line, char *text,
                       VmrpcTerms *terms)
{
    VmrpcPolicyHits hits = { .line = line, .text = text,
                             .terms = vmrpc_terms_ref(terms) };

    g_array_append_val(policy->hits, hits);
}

/* The statement in @line; NULL: there is none */
static VmrpcPolicyHits *find_line(const VmrpcPolicy *policy, unsigned line)
{
    guint first = 0, end = policy->hits->len;

    while (first < end) {
        guint middle = first + (end - first) / 2;
        VmrpcPolicyHits *hits = &g_array_index(policy->hits, VmrpcPolicyHits,
                                               middle);

        if (hits->line == line) {
            return hits;
        }
        if (hits->line < line) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return NULL;
}

void vmrpc_policy_count(VmrpcPolicy *policy, const VmrpcVerdict *why)
{
    VmrpcPolicyHits *hits = policy ? find_line(policy, why->line) : NULL;

    if (hits) {
        hits->destinations++;
    }
}

void vmrpc_policy_count_name(VmrpcPolicy *policy, const VmrpcVerdict *why)
{
    VmrpcPolicyHits *hits = policy ? find_line(policy, why->line) : NULL;

    if (hits) {
        hits->names++;
    }
}

static void inherit_budget(VmrpcHourly **budget, VmrpcHourly *before)
{
    if (*budget) {
        vmrpc_hourly_unref(*budget);
        *budget = vmrpc_hourly_ref(before);
    }
}

void vmrpc_policy_inherit(VmrpcPolicy *policy, const VmrpcPolicy *old)
{
    g_autoptr(GHashTable) by_text = NULL;

    if (!old) {
        return;
    }
    by_text = g_hash_table_new(g_str_hash, g_str_equal);
    /* From the end: of equal statements the first stays, as it decides. */
    for (guint i = policy->hits->len; i > 0; i--) {
        VmrpcPolicyHits *hits = &g_array_index(policy->hits, VmrpcPolicyHits,
                                               i - 1);

        g_hash_table_insert(by_text, hits->text, hits);
    }
    for (guint i = 0; i < old->hits->len; i++) {
        const VmrpcPolicyHits *before = &g_array_index(old->hits,
                                                       VmrpcPolicyHits, i);
        VmrpcPolicyHits *hits = g_hash_table_lookup(by_text, before->text);

        if (hits) {
            hits->destinations += before->destinations;
            hits->names += before->names;
            if (hits->terms) {
                inherit_budget(&hits->terms->sent, before->terms->sent);
                inherit_budget(&hits->terms->names, before->terms->names);
            }
        }
    }
}

GArray *vmrpc_policy_copy_hits(const VmrpcPolicy *policy)
{
    GArray *copy = vmrpc_policy_hits_new();

    for (guint i = 0; policy && i < policy->hits->len; i++) {
        VmrpcPolicyHits hits = g_array_index(policy->hits, VmrpcPolicyHits, i);

        hits.text = g_strdup(hits.text);
        vmrpc_terms_ref(hits.terms);
        if (hits.terms && hits.terms->sent) {
            hits.sent = hits.terms->sent->spent;
        }
        if (hits.terms && hits.terms->names) {
            hits.names_asked = hits.terms->names->spent;
        }
        g_array_append_val(copy, hits);
    }
    return copy;
}
