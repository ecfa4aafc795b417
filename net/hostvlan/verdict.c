/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * May this frame pass?
 *
 * Theory of operation
 *
 * The paper's filter stands at the port, not in the switch: a frame that the
 * switch has brought to the port of a VM is delivered if its source and the
 * port have an LNID in common, or one of them has the global one. So what the
 * destination address says does not matter, and multicasts need no rule. The
 * source can be believed, as each port lets out frames with its own MAC
 * address only.
 *
 * Beyond the paper are the switches themselves, which all tenants share: what
 * they listen to leaves a port by leave only, and the queries by which they
 * find out who wants a group reach every guest (group.h). Frames to one
 * station cost a look at one bit for that, and those that pass to the guest
 * nothing.
 *
 * The port's LNIDs are those that the table has for its MAC address, asked
 * anew for each frame, as the table may have changed; they are in the cache.
 * Most MAC addresses have one LNID, which the value itself says. Otherwise two
 * lists in ascending order are merged, of HOSTVLAN_LNIDS_MAX at most.
 */
#include "net/hostvlan/verdict.h"

const char *hostvlan_reason_name(enum hostvlan_reason reason)
{
    static const char *const names[] = {
        [HOSTVLAN_PASSED] = "passed",
        [HOSTVLAN_SPOOFED] = "spoofed",
        [HOSTVLAN_UNKNOWN_SOURCE] = "unknown-source",
        [HOSTVLAN_OTHER_TENANT] = "other-tenant",
        [HOSTVLAN_FORGED_ADDRESS] = "forged-address",
        [HOSTVLAN_MALFORMED] = "malformed",
        [HOSTVLAN_NO_TABLE] = "no-table",
        [HOSTVLAN_NO_PORT] = "no-port",
        [HOSTVLAN_DAMAGED] = "damaged",
        [HOSTVLAN_L2_CONTROL] = "l2-control",
        [HOSTVLAN_QUERY] = "multicast-query",
        [HOSTVLAN_RA_GUARD] = "ra-guard",
        [HOSTVLAN_DHCP_GUARD] = "dhcp-guard",
    };

    G_STATIC_ASSERT(G_N_ELEMENTS(names) == HOSTVLAN_REASONS);
    return names[reason];
}

/* Ascending: the global LNID, 0, is the first. */
static bool has_global(const HostvlanLnids *lnids)
{
    return lnids->lnid[0] == HOSTVLAN_LNID_GLOBAL;
}

static bool have_common(const HostvlanLnids *a, const HostvlanLnids *b)
{
    unsigned i = 0, j = 0;

    while (i < a->num && j < b->num) {
        if (a->lnid[i] == b->lnid[j]) {
            return true;
        }
        if (a->lnid[i] < b->lnid[j]) {
            i++;
        } else {
            j++;
        }
    }
    return false;
}

static enum hostvlan_reason compare_lists(const HostvlanTable *table,
                                          uint64_t port, uint64_t source)
{
    HostvlanLnids a, b;

    if (!hostvlan_table_lnids(table, port, &a) ||
        !hostvlan_table_lnids(table, source, &b)) {
        return HOSTVLAN_DAMAGED;
    }
    return has_global(&a) || has_global(&b) || have_common(&a, &b) ?
           HOSTVLAN_PASSED : HOSTVLAN_OTHER_TENANT;
}

static enum hostvlan_reason compare(const HostvlanTable *table, uint64_t port,
                                    uint64_t source)
{
    uint32_t a = hostvlan_value_number(port);
    uint32_t b = hostvlan_value_number(source);

    if (hostvlan_value_kind(port) != HOSTVLAN_VALUE_ONE ||
        hostvlan_value_kind(source) != HOSTVLAN_VALUE_ONE) {
        return compare_lists(table, port, source);
    }
    return a == b || a == HOSTVLAN_LNID_GLOBAL || b == HOSTVLAN_LNID_GLOBAL ?
           HOSTVLAN_PASSED : HOSTVLAN_OTHER_TENANT;
}

/* A frame of the port's own to a group. */
static enum hostvlan_reason send_group(const HostvlanTable *table,
                                       uint64_t port, bool l2_control,
                                       const uint8_t *frame, size_t len,
                                       size_t *fixed)
{
    struct hostvlan_frame f = { .data = frame, .len = len, .size = len };
    enum hostvlan_reason reason;
    uint32_t looked_at = HOSTVLAN_ETH_LEN;
    HostvlanLnids own;

    if (!l2_control && hostvlan_is_l2_control(hostvlan_mac(frame))) {
        return HOSTVLAN_L2_CONTROL;
    }
    reason = hostvlan_query_sent(&f, &looked_at);
    *fixed = looked_at;
    if (reason != HOSTVLAN_PASSED &&
        hostvlan_table_lnids(table, hostvlan_table_lookup(table, port), &own) &&
        has_global(&own)) {
        return HOSTVLAN_PASSED;
    }
    return reason;
}

/* Has the table @mac among the others that @port may send with? */
static bool sends_as(const HostvlanTable *table, uint64_t port, uint64_t mac)
{
    HostvlanRights rights;

    if (!hostvlan_table_rights(table, hostvlan_table_lookup(table, port),
                               &rights)) {
        return false;
    }
    for (unsigned i = 0; i < rights.num_also; i++) {
        if (rights.also[i] == mac) {
            return true;
        }
    }
    return false;
}

enum hostvlan_reason hostvlan_verdict_send(const HostvlanTable *table,
                                           uint64_t port, bool l2_control,
                                           const uint8_t *frame, size_t len,
                                           size_t *fixed)
{
    *fixed = HOSTVLAN_ETH_LEN;
    if (len < HOSTVLAN_ETH_LEN) {
        return HOSTVLAN_MALFORMED;
    }
    if (!table || hostvlan_table_lost(table)) {
        return HOSTVLAN_NO_TABLE;
    }
    if (!hostvlan_mac_valid(port)) {
        return HOSTVLAN_NO_PORT;
    }
    if (__builtin_expect(hostvlan_mac(frame + 6) != port, 0) &&
        !sends_as(table, port, hostvlan_mac(frame + 6))) {
        return HOSTVLAN_SPOOFED;
    }
    return __builtin_expect(hostvlan_is_group(frame), 0) ?
           send_group(table, port, l2_control, frame, len, fixed) :
           HOSTVLAN_PASSED;
}

enum hostvlan_reason hostvlan_verdict_offer(const HostvlanTable *table,
                                            uint64_t port, uint32_t guards,
                                            const uint8_t *frame, size_t len,
                                            size_t size, size_t *fixed)
{
    struct hostvlan_frame f = { .data = frame, .len = len, .size = size };
    uint32_t looked_at = HOSTVLAN_ETH_LEN;
    enum hostvlan_reason reason;
    HostvlanRights rights;

    *fixed = HOSTVLAN_ETH_LEN;
    if (!guards) {
        return HOSTVLAN_PASSED;
    }
    reason = hostvlan_offered(&f, guards, &looked_at);
    *fixed = looked_at;
    if (__builtin_expect(reason == HOSTVLAN_PASSED, 1)) {
        return HOSTVLAN_PASSED;
    }
    if (!hostvlan_table_rights(table, hostvlan_table_lookup(table, port),
                               &rights)) {
        return HOSTVLAN_DAMAGED;
    }
    return hostvlan_offer_needed(reason, guards) & ~rights.offers ?
           reason : HOSTVLAN_PASSED;
}

static bool is_query(const uint8_t *frame, size_t len, size_t size)
{
    struct hostvlan_frame f = { .data = frame, .len = len, .size = size };

    return hostvlan_is_group(frame) &&
           hostvlan_query_received(&f, size, hostvlan_mac(frame));
}

enum hostvlan_reason hostvlan_verdict_receive(const HostvlanTable *table,
                                              uint64_t port,
                                              const uint8_t *frame, size_t len,
                                              size_t size)
{
    enum hostvlan_reason reason;
    uint64_t mac, own, source;

    if (len < HOSTVLAN_ETH_LEN) {
        return HOSTVLAN_MALFORMED;
    }
    if (!table) {
        return HOSTVLAN_NO_TABLE;
    }
    mac = hostvlan_mac(frame + 6);
    hostvlan_table_prefetch(table, mac);
    own = hostvlan_mac_valid(port) ? hostvlan_table_lookup(table, port) : 0;
    source = hostvlan_mac_valid(mac) ? hostvlan_table_lookup(table, mac) : 0;
    if (own == 0) {
        reason = HOSTVLAN_NO_PORT;
    } else if (source == 0) {
        reason = hostvlan_mac_valid(mac) && is_query(frame, len, size) ?
                 HOSTVLAN_PASSED : HOSTVLAN_UNKNOWN_SOURCE;
    } else {
        reason = compare(table, own, source);
    }
    /* Of a table that was lost meanwhile, nothing that was read counts. */
    return hostvlan_table_lost(table) ? HOSTVLAN_NO_TABLE : reason;
}
