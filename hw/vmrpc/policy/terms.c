/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The terms of an allow rule
 *
 * Budgets are of fixed hours: two numbers, and an answer to "when is there
 * more?".  The bound is what an operator writes down: in no hour more than
 * that.  The price is that twice as much can pass around the end of one.
 */
#include "hw/vmrpc/policy/terms.h"

VmrpcTerms *vmrpc_terms_new(void)
{
    return g_atomic_rc_box_new0(VmrpcTerms);
}

void vmrpc_terms_free(gpointer opaque)
{
    VmrpcTerms *terms = opaque;

    vmrpc_hourly_unref(terms->sent);
    vmrpc_hourly_unref(terms->names);
    vmrpc_proxy_unref(terms->via);
}

VmrpcProxy *vmrpc_proxy_new(void)
{
    return g_atomic_rc_box_new0(VmrpcProxy);
}

VmrpcProxy *vmrpc_proxy_ref(VmrpcProxy *proxy)
{
    return proxy ? g_atomic_rc_box_acquire(proxy) : NULL;
}

static void proxy_clear(gpointer opaque)
{
    VmrpcProxy *proxy = opaque;

    g_free(proxy->name);
    g_free(proxy->secret);
    g_free(proxy->user);
    g_free(proxy->password);
}

void vmrpc_proxy_unref(VmrpcProxy *proxy)
{
    if (proxy) {
        g_atomic_rc_box_release_full(proxy, proxy_clear);
    }
}

VmrpcHourly *vmrpc_hourly_new(uint64_t most)
{
    VmrpcHourly *budget = g_atomic_rc_box_new0(VmrpcHourly);

    budget->most = most;
    return budget;
}

VmrpcHourly *vmrpc_hourly_ref(VmrpcHourly *budget)
{
    return budget ? g_atomic_rc_box_acquire(budget) : NULL;
}

static void hourly_clear(gpointer opaque)
{
    VmrpcHourly *budget = opaque;

    g_clear_pointer(&budget->names, g_hash_table_unref);
}

void vmrpc_hourly_unref(VmrpcHourly *budget)
{
    if (budget) {
        g_atomic_rc_box_release_full(budget, hourly_clear);
    }
}

/* Begins another hour if the last one is over. */
static void look_at_clock(VmrpcHourly *budget, int64_t now_us)
{
    if (!budget->began_us || now_us - budget->began_us >= VMRPC_HOUR_US) {
        budget->began_us = now_us;
        budget->spent = 0;
        g_clear_pointer(&budget->names, g_hash_table_unref);
    }
}

uint64_t vmrpc_hourly_take(VmrpcHourly *budget, uint64_t wanted,
                           int64_t now_us)
{
    uint64_t given;

    look_at_clock(budget, now_us);
    given = MIN(wanted, budget->most - budget->spent);
    budget->spent += given;
    return given;
}

bool vmrpc_hourly_take_name(VmrpcHourly *budget, const char *name,
                            int64_t now_us)
{
    g_autofree char *lower = g_ascii_strdown(name, -1);

    look_at_clock(budget, now_us);
    if (budget->names && g_hash_table_contains(budget->names, lower)) {
        return true;
    }
    if (budget->spent == budget->most) {
        return false;
    }
    if (!budget->names) {
        budget->names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                              NULL);
    }
    budget->spent++;
    g_hash_table_add(budget->names, g_steal_pointer(&lower));
    return true;
}

void vmrpc_hourly_give_back(VmrpcHourly *budget, uint64_t unused)
{
    /* Another hour may have begun meanwhile. */
    budget->spent -= MIN(budget->spent, unused);
}
