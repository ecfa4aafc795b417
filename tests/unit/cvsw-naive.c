/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A flow table, slow and plain */
#include <string.h>

#include "cvsw-naive.h"

NaiveTable *naive_new(unsigned entries_max)
{
    NaiveTable *table = g_new0(NaiveTable, 1);

    table->entries_max = entries_max;
    table->entries = g_ptr_array_new_with_free_func(g_free);
    table->removed = g_array_new(false, true, sizeof(NaiveRemoved));
    return table;
}

void naive_free(NaiveTable *table)
{
    g_ptr_array_free(table->entries, true);
    g_array_free(table->removed, true);
    g_free(table);
}

CvswValue naive_value(CvswField field, uint64_t number)
{
    size_t octets = cvsw_field_octets(field);
    CvswValue value = { { 0 } };

    for (size_t i = 0; i < MIN(octets, 8); i++) {
        value.octets[octets - 1 - i] = number >> 8 * i;
    }
    return value;
}

static void put(NaiveFields *frame, CvswField field, bool is, uint64_t number)
{
    frame->field[field].is = is;
    frame->field[field].value = naive_value(field, is ? number : 0);
}

static void put_octets(NaiveFields *frame, CvswField field, bool is,
                       const void *octets)
{
    put(frame, field, is, 0);
    if (is) {
        memcpy(frame->field[field].value.octets, octets,
               cvsw_field_octets(field));
    }
}

static void put_ether(NaiveFields *frame, const PacketEth *eth)
{
    unsigned tci = eth->tci[0];

    put_octets(frame, CVSW_ETH_DST, true, eth->dst);
    put_octets(frame, CVSW_ETH_SRC, true, eth->src);
    put(frame, CVSW_ETH_TYPE, true, eth->type);
    put(frame, CVSW_VLAN_VID, true,
        eth->tags ? CVSW_VID_PRESENT | (tci & 0xfff) : 0);
    put(frame, CVSW_VLAN_PCP, eth->tags, tci >> 13);
}

static void put_ip(NaiveFields *frame, const PacketFlow *flow)
{
    bool ip4 = flow->has & PACKET_FLOW_IP4, ip6 = flow->has & PACKET_FLOW_IP6;

    put(frame, CVSW_IP_DSCP, ip4 || ip6, flow->tos >> 2);
    put(frame, CVSW_IP_ECN, ip4 || ip6, flow->tos & 3);
    put(frame, CVSW_IP_PROTO, ip4 || ip6, flow->protocol);
    put_octets(frame, CVSW_IPV4_SRC, ip4, &flow->ip4_src);
    put_octets(frame, CVSW_IPV4_DST, ip4, &flow->ip4_dst);
    put_octets(frame, CVSW_IPV6_SRC, ip6, &flow->ip6_src);
    put_octets(frame, CVSW_IPV6_DST, ip6, &flow->ip6_dst);
    put(frame, CVSW_IPV6_FLABEL, ip6, flow->ip6_label);
    put(frame, CVSW_IPV6_EXTHDR, ip6, flow->ip6_has);
}

static void put_arp(NaiveFields *frame, const PacketFlow *flow)
{
    bool arp = flow->has & PACKET_FLOW_ARP;

    put(frame, CVSW_ARP_OP, arp, flow->arp_operation);
    put_octets(frame, CVSW_ARP_SPA, arp, &flow->arp_spa);
    put_octets(frame, CVSW_ARP_TPA, arp, &flow->arp_tpa);
    put_octets(frame, CVSW_ARP_SHA, arp, flow->arp_sha);
    put_octets(frame, CVSW_ARP_THA, arp, flow->arp_tha);
}

static void put_transport(NaiveFields *frame, const PacketFlow *flow)
{
    bool nd = flow->has & PACKET_FLOW_ND;

    put(frame, CVSW_TCP_SRC, flow->has & PACKET_FLOW_TCP, flow->src_port);
    put(frame, CVSW_TCP_DST, flow->has & PACKET_FLOW_TCP, flow->dst_port);
    put(frame, CVSW_UDP_SRC, flow->has & PACKET_FLOW_UDP, flow->src_port);
    put(frame, CVSW_UDP_DST, flow->has & PACKET_FLOW_UDP, flow->dst_port);
    put(frame, CVSW_SCTP_SRC, flow->has & PACKET_FLOW_SCTP, flow->src_port);
    put(frame, CVSW_SCTP_DST, flow->has & PACKET_FLOW_SCTP, flow->dst_port);
    put(frame, CVSW_ICMPV4_TYPE, flow->has & PACKET_FLOW_ICMP4,
        flow->icmp_type);
    put(frame, CVSW_ICMPV4_CODE, flow->has & PACKET_FLOW_ICMP4,
        flow->icmp_code);
    put(frame, CVSW_ICMPV6_TYPE, flow->has & PACKET_FLOW_ICMP6,
        flow->icmp_type);
    put(frame, CVSW_ICMPV6_CODE, flow->has & PACKET_FLOW_ICMP6,
        flow->icmp_code);
    put_octets(frame, CVSW_IPV6_ND_TARGET, nd, &flow->nd_target);
    put_octets(frame, CVSW_IPV6_ND_SLL, nd && flow->icmp_type == 135,
               flow->nd_sll);
    put_octets(frame, CVSW_IPV6_ND_TLL, nd && flow->icmp_type == 136,
               flow->nd_tll);
}

void naive_frame(NaiveFields *frame, const PacketFlow *flow, uint32_t in_port,
                 uint64_t tunnel_id)
{
    memset(frame, 0, sizeof(*frame));
    put(frame, CVSW_IN_PORT, true, in_port);
    put(frame, CVSW_TUNNEL_ID, true, tunnel_id);
    put_ether(frame, &flow->eth);
    put_ip(frame, flow);
    put_arp(frame, flow);
    put_transport(frame, flow);
}

CvswMatch naive_match(const NaiveFields *match)
{
    CvswMatch packed = { .fields = 0 };

    for (CvswField field = 0; field < CVSW_FIELDS; field++) {
        const NaiveField *f = &match->field[field];

        if (f->is) {
            g_assert_cmpint(cvsw_match_add(&packed, field, &f->value, &f->mask),
                            ==, CVSW_MATCH_OK);
        }
    }
    g_assert_cmpint(cvsw_match_check(&packed), ==, CVSW_MATCH_OK);
    return packed;
}

/* Do two values agree in the bits that both masks have? */
static bool agree(const CvswValue *a, const CvswValue *b, const CvswValue *mask,
                  const CvswValue *other_mask)
{
    for (unsigned i = 0; i < CVSW_VALUE_MAX; i++) {
        if ((a->octets[i] ^ b->octets[i]) & mask->octets[i] &
            other_mask->octets[i]) {
            return false;
        }
    }
    return true;
}

static bool has_bits(const CvswValue *mask, const CvswValue *of)
{
    for (unsigned i = 0; i < CVSW_VALUE_MAX; i++) {
        if (of->octets[i] & ~mask->octets[i]) {
            return false;
        }
    }
    return true;
}

bool naive_meets(const NaiveFields *match, const NaiveFields *frame)
{
    for (CvswField field = 0; field < CVSW_FIELDS; field++) {
        const NaiveField *m = &match->field[field], *f = &frame->field[field];

        if (m->is && (!f->is ||
                      !agree(&m->value, &f->value, &m->mask, &m->mask))) {
            return false;
        }
    }
    return true;
}

bool naive_within(const NaiveFields *narrow, const NaiveFields *wide)
{
    for (CvswField field = 0; field < CVSW_FIELDS; field++) {
        const NaiveField *n = &narrow->field[field], *w = &wide->field[field];

        if (w->is && (!n->is || !has_bits(&n->mask, &w->mask) ||
                      !agree(&n->value, &w->value, &w->mask, &w->mask))) {
            return false;
        }
    }
    return true;
}

bool naive_equal(const NaiveFields *a, const NaiveFields *b)
{
    return naive_within(a, b) && naive_within(b, a);
}

bool naive_overlaps(const NaiveFields *a, const NaiveFields *b)
{
    for (CvswField field = 0; field < CVSW_FIELDS; field++) {
        const NaiveField *x = &a->field[field], *y = &b->field[field];

        if (x->is && y->is && !agree(&x->value, &y->value, &x->mask,
                                     &y->mask)) {
            return false;
        }
    }
    return true;
}

static NaiveEntry *entry_at(const NaiveTable *table, unsigned i)
{
    return table->entries->pdata[i];
}

NaiveEntry *naive_same(const NaiveTable *table, const NaiveFields *match,
                       uint16_t priority)
{
    for (unsigned i = 0; i < table->entries->len; i++) {
        NaiveEntry *entry = entry_at(table, i);

        if (entry->priority == priority && naive_equal(&entry->match, match)) {
            return entry;
        }
    }
    return NULL;
}

static CvswFlowFault add(NaiveTable *table, const CvswFlowMod *mod,
                         const NaiveFields *match, uint64_t now_ms)
{
    NaiveEntry *same = naive_same(table, match, mod->priority);
    NaiveEntry *entry;

    for (unsigned i = 0; i < table->entries->len; i++) {
        entry = entry_at(table, i);
        if (mod->flags & CVSW_FLOW_CHECK_OVERLAP &&
            entry->priority == mod->priority &&
            naive_overlaps(&entry->match, match)) {
            return CVSW_FLOW_OVERLAP;
        }
    }
    if (!same && table->entries->len >= table->entries_max) {
        return CVSW_FLOW_TABLE_FULL;
    }
    entry = g_new0(NaiveEntry, 1);
    if (same) {
        if (!(mod->flags & CVSW_FLOW_RESET_COUNTS)) {
            entry->packets = same->packets;
            entry->octets = same->octets;
        }
        g_ptr_array_remove(table->entries, same);
    }
    entry->match = *match;
    entry->priority = mod->priority;
    entry->idle_timeout = mod->idle_timeout;
    entry->hard_timeout = mod->hard_timeout;
    entry->cookie = mod->cookie;
    entry->made_ms = entry->used_ms = now_ms;
    entry->flags = mod->flags;
    entry->port = mod->actions[0].output.port;
    g_ptr_array_add(table->entries, entry);
    return CVSW_FLOW_OK;
}

static void end(NaiveTable *table, NaiveEntry *entry, CvswRemovedWhy why)
{
    NaiveRemoved removed = {
        .cookie = entry->cookie, .priority = entry->priority,
        .packets = entry->packets, .why = why,
    };

    if (entry->flags & CVSW_FLOW_SEND_REMOVED) {
        g_array_append_val(table->removed, removed);
    }
    g_ptr_array_remove(table->entries, entry);
}

bool naive_takes(const NaiveEntry *entry, const CvswFlowMod *mod,
                 const NaiveFields *match)
{
    bool strict = mod->command == CVSW_MODIFY_STRICT ||
                  mod->command == CVSW_DELETE_STRICT;
    bool deletes = mod->command == CVSW_DELETE ||
                   mod->command == CVSW_DELETE_STRICT;

    if (strict ? entry->priority != mod->priority ||
                 !naive_equal(&entry->match, match)
               : !naive_within(&entry->match, match)) {
        return false;
    }
    if ((entry->cookie & mod->cookie_mask) !=
        (mod->cookie & mod->cookie_mask)) {
        return false;
    }
    return !deletes || mod->out_port == CVSW_ANY_PORT ||
           mod->out_port == entry->port;
}

static void change(NaiveEntry *entry, const CvswFlowMod *mod)
{
    entry->port = mod->actions[0].output.port;
    if (mod->flags & CVSW_FLOW_RESET_COUNTS) {
        entry->packets = entry->octets = 0;
    }
    if (mod->flags & CVSW_FLOW_MODIFY_COOKIE) {
        entry->cookie = mod->cookie;
    }
}

CvswFlowFault naive_mod(NaiveTable *table, const CvswFlowMod *mod,
                        const NaiveFields *match, uint64_t now_ms)
{
    bool modifies = mod->command == CVSW_MODIFY ||
                    mod->command == CVSW_MODIFY_STRICT;
    bool found = false;

    if (mod->command == CVSW_ADD) {
        return add(table, mod, match, now_ms);
    }
    for (unsigned i = table->entries->len; i > 0; i--) {
        NaiveEntry *entry = entry_at(table, i - 1);

        if (naive_takes(entry, mod, match)) {
            found = true;
            if (modifies) {
                change(entry, mod);
            } else {
                end(table, entry, CVSW_REMOVED_DELETED);
            }
        }
    }
    return modifies && !found && mod->flags & CVSW_FLOW_MODIFY_ADDS ?
           add(table, mod, match, now_ms) : CVSW_FLOW_OK;
}

NaiveEntry *naive_find(const NaiveTable *table, const NaiveFields *frame)
{
    NaiveEntry *best = NULL;

    for (unsigned i = 0; i < table->entries->len; i++) {
        NaiveEntry *entry = entry_at(table, i);

        if (naive_meets(&entry->match, frame) &&
            (!best || entry->priority > best->priority)) {
            best = entry;
        }
    }
    return best;
}

uint64_t naive_expire(NaiveTable *table, uint64_t now_ms)
{
    uint64_t next = UINT64_MAX;

    for (unsigned i = table->entries->len; i > 0; i--) {
        NaiveEntry *entry = entry_at(table, i - 1);
        uint64_t hard = entry->hard_timeout ?
                        entry->made_ms + entry->hard_timeout * 1000ull :
                        UINT64_MAX;
        uint64_t idle = entry->idle_timeout ?
                        entry->used_ms + entry->idle_timeout * 1000ull :
                        UINT64_MAX;

        if (MIN(hard, idle) <= now_ms) {
            end(table, entry,
                hard <= idle ? CVSW_REMOVED_HARD : CVSW_REMOVED_IDLE);
        } else {
            next = MIN(next, MIN(hard, idle));
        }
    }
    return next;
}
