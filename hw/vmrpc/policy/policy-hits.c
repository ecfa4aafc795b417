/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often each rule has decided, and what its budgets have spent elsewhere
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

/* The statements by their words */
static GHashTable *index_by_text(const VmrpcPolicy *policy)
{
    GHashTable *by_text = g_hash_table_new(g_str_hash, g_str_equal);

    /* From the end: of equal statements the first stays, as it decides. */
    for (guint i = policy->hits->len; i > 0; i--) {
        VmrpcPolicyHits *hits = &g_array_index(policy->hits, VmrpcPolicyHits,
                                               i - 1);

        g_hash_table_insert(by_text, hits->text, hits);
    }
    return by_text;
}

void vmrpc_policy_inherit(VmrpcPolicy *policy, const VmrpcPolicy *old)
{
    g_autoptr(GHashTable) by_text = NULL;

    if (!old) {
        return;
    }
    by_text = index_by_text(policy);
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

/* --- budgets across a migration ------------------------------------------- */

/*
 * For each rule: its words, what is spent of its octets and for how long (us)
 * the hour of these has lasted, the same of names, and these names.  The octets
 * of the GVariant are little-endian.
 */
#define SAVED_RULES "a(aytxtxas)"

static GVariant *little_endian(GVariant *v)
{
    return G_BYTE_ORDER == G_LITTLE_ENDIAN ? g_variant_ref(v)
                                           : g_variant_byteswap(v);
}

static uint64_t spent(const VmrpcHourly *budget, int64_t now_us,
                      int64_t *age_us)
{
    *age_us = budget ? now_us - budget->began_us : 0;
    return budget && *age_us < VMRPC_HOUR_US ? budget->spent : 0;
}

static void save_names(GVariantBuilder *list, GHashTable *names, guint *room)
{
    GHashTableIter iter;
    gpointer name;

    if (!names || g_hash_table_size(names) > *room) {
        return;
    }
    *room -= g_hash_table_size(names);
    g_hash_table_iter_init(&iter, names);
    while (g_hash_table_iter_next(&iter, &name, NULL)) {
        g_variant_builder_add(list, "s", name);
    }
}

GBytes *vmrpc_policy_save_budgets(const VmrpcPolicy *policy, int64_t now_us)
{
    guint room = VMRPC_SAVED_BUDGET_NAMES_MAX, num = 0;
    g_autoptr(GVariant) rules = NULL, saved = NULL;
    GVariantBuilder builder, list;

    g_variant_builder_init(&builder, G_VARIANT_TYPE(SAVED_RULES));
    for (guint i = 0; policy && i < policy->hits->len; i++) {
        const VmrpcPolicyHits *hits = &g_array_index(policy->hits,
                                                     VmrpcPolicyHits, i);
        VmrpcHourly *sent = hits->terms ? hits->terms->sent : NULL;
        VmrpcHourly *names = hits->terms ? hits->terms->names : NULL;
        int64_t sent_age, names_age;
        uint64_t sent_num = spent(sent, now_us, &sent_age);
        uint64_t names_num = spent(names, now_us, &names_age);

        if (sent_num || names_num) {
            g_variant_builder_init(&list, G_VARIANT_TYPE("as"));
            if (names_num) {
                save_names(&list, names->names, &room);
            }
            g_variant_builder_add(&builder, "(^aytxtxas)", hits->text, sent_num,
                                  sent_age, names_num, names_age, &list);
            num++;
        }
    }
    rules = g_variant_ref_sink(g_variant_builder_end(&builder));
    saved = little_endian(rules);
    return num && g_variant_get_size(saved) <= VMRPC_SAVED_BUDGETS_MAX
           ? g_variant_get_data_as_bytes(saved) : NULL;
}

/* @names: of a budget of names; NULL: it is one of octets */
static bool restore_budget(VmrpcHourly *budget, uint64_t num, int64_t age_us,
                           GVariantIter *names, int64_t now_us)
{
    const char *name;

    if (!num) {
        return true;
    }
    /* Equal words have equal budgets. */
    if (!budget || num > budget->most || age_us < 0 ||
        age_us >= VMRPC_HOUR_US ||
        (names && g_variant_iter_n_children(names) > num)) {
        return false;
    }
    budget->spent = num;
    budget->began_us = now_us - age_us ?: 1;
    g_clear_pointer(&budget->names, g_hash_table_unref);
    while (names && g_variant_iter_next(names, "&s", &name)) {
        if (!budget->names) {
            budget->names = g_hash_table_new_full(g_str_hash, g_str_equal,
                                                  g_free, NULL);
        }
        g_hash_table_add(budget->names, g_strdup(name));
    }
    return true;
}

bool vmrpc_policy_restore_budgets(VmrpcPolicy *policy, GBytes *saved,
                                  int64_t now_us)
{
    g_autoptr(GVariant) raw = g_variant_ref_sink(
        g_variant_new_from_bytes(G_VARIANT_TYPE(SAVED_RULES), saved, FALSE));
    g_autoptr(GVariant) rules = NULL;
    g_autoptr(GHashTable) by_text = NULL;
    bool ok = g_variant_is_normal_form(raw);
    int64_t sent_age, names_age;
    uint64_t sent, names_num;
    GVariantIter iter, *names;
    const char *text;

    if (!policy || !ok) {
        return ok;
    }
    by_text = index_by_text(policy);
    rules = little_endian(raw);
    g_variant_iter_init(&iter, rules);
    while (ok && g_variant_iter_next(&iter, "(^&aytxtxas)", &text, &sent,
                                     &sent_age, &names_num, &names_age,
                                     &names)) {
        const VmrpcPolicyHits *hits = g_hash_table_lookup(by_text, text);

        ok = !hits || (hits->terms &&
             restore_budget(hits->terms->sent, sent, sent_age, NULL, now_us) &&
             restore_budget(hits->terms->names, names_num, names_age, names,
                            now_us));
        g_variant_iter_free(names);
    }
    return ok;
}
