/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * May this frame pass?
 *
 * Theory of operation
 *
 * The paper's filter is at the port, not in the switch: a frame that the switch
 * has forwarded to a VM's port is delivered if its source and the port have a
 * common LNID, or one of them has the global LNID. So the destination address
 * is irrelevant, and multicast needs no special rule. The source address can be
 * trusted, because each port sends frames only with its own MAC address.
 *
 * The switches themselves are beyond the paper; all tenants share them. A guest
 * may send frames that switches act on only with permission, and the queries
 * that switches need to learn group members reach every guest (group.h). For
 * unicast frames this costs the test of one bit when sent, and nothing when
 * received.
 *
 * The port's LNIDs are looked up for each frame, because the table may have
 * changed; they are in the cache. Most MAC addresses have one LNID, which is in
 * the value itself. Otherwise two ascending lists are compared, each with at
 * most HOSTVLAN_LNIDS_MAX elements.
 *
 * In a table of a million addresses the source's bucket is not in the cache,
 * and the verdict waits about 100 ns for it. A prefetch some frames earlier
 * would hide this, but no frame is visible earlier: a tap gives one a read
 * (docs/performance.md has what reading ahead would save). So the bucket is
 * prefetched just before the port's own entry is looked up.
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

/* The list is ascending: the global LNID, 0, is the first. */
static bool has_global(const HostvlanLnids *lnids)
{
    return lnids->lnid[0] == HOSTVLAN_LNID_GLOBAL;
}

static bool intersect(const HostvlanLnids *a, const HostvlanLnids *b)
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
    return has_global(&a) || has_global(&b) || intersect(&a, &b) ?
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

/* A frame from the port's own MAC address to a multicast address. */
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

/* Is @mac one of the other MAC addresses that @port may send with? */
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
    /*
     * If the table was lost meanwhile, the values that were read are invalid.
     */
    return hostvlan_table_lost(table) ? HOSTVLAN_NO_TABLE : reason;
}
