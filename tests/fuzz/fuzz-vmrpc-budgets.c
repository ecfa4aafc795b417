/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What budgets have spent, from a migration stream
 *
 * No budget may be exceeded, whatever comes; and what was accepted is what the
 * next migration carries.
 */
#include <string.h>

#include "hw/vmrpc/policy/policy-hits.h"
#include "hw/vmrpc/policy/policy-parse.h"
#include "hw/vmrpc/policy/policy-rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define POLICY  "allow host sent 10/h\n" \
                "allow *.test udp names 3/h sent 5/h\n" \
                "allow 2001:db8::/32\n"
#define NOW_US  INT64_C(1000000000000)

static void check(const VmrpcHourly *budget)
{
    g_assert(!budget || budget->spent <= budget->most);
    g_assert(!budget || !budget->names ||
             g_hash_table_size(budget->names) <= budget->spent);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(VmrpcPolicy) here = vmrpc_policy_parse(POLICY, strlen(POLICY),
                                                     "p", NULL);
    g_autoptr(VmrpcPolicy) next = vmrpc_policy_parse(POLICY, strlen(POLICY),
                                                     "p", NULL);
    g_autoptr(GBytes) octets = g_bytes_new(data, size), saved = NULL;
    bool ok = vmrpc_policy_restore_budgets(here, octets, NOW_US);

    for (guint i = 0; i < here->hits->len; i++) {
        const VmrpcTerms *terms = g_array_index(here->hits, VmrpcPolicyHits,
                                                i).terms;

        if (terms) {
            check(terms->sent);
            check(terms->names);
        }
    }
    saved = vmrpc_policy_save_budgets(here, NOW_US);
    if (ok && saved) {
        g_autoptr(GBytes) again = NULL;

        g_assert(vmrpc_policy_restore_budgets(next, saved, NOW_US));
        again = vmrpc_policy_save_budgets(next, NOW_US);
        g_assert(g_bytes_get_size(again) == g_bytes_get_size(saved));
    }
    return 0;
}
