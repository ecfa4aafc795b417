/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random commands and frames, in two tables */
#include <string.h>

#include "cvsw-play.h"
#include "net/packet/ip6.h"

#define PORTS           3u

unsigned play_choose(PlaySource *source, unsigned num)
{
    if (source->rand) {
        return g_rand_int_range(source->rand, 0, num);
    }
    if (source->size == 0) {
        return 0;
    }
    source->size--;
    return *source->data++ % num;
}

static void choose_ip(PlaySource *source, PacketFlow *flow)
{
    flow->tos = play_choose(source, 2) << 2 | play_choose(source, 2);
    if (flow->has & PACKET_FLOW_IP4) {
        flow->eth.type = PACKET_ETH_IP4;
        flow->ip4_src.s_addr = htonl(0x0a000000 | play_choose(source, 3));
        flow->ip4_dst.s_addr = htonl(0xc0000000 | play_choose(source, 3) << 8);
        return;
    }
    flow->eth.type = PACKET_ETH_IP6;
    flow->ip6_src.s6_addr[0] = flow->ip6_dst.s6_addr[0] = 0xfe;
    flow->ip6_src.s6_addr[15] = play_choose(source, 3);
    flow->ip6_dst.s6_addr[7] = play_choose(source, 3);
    flow->ip6_label = play_choose(source, 2) * 0x80001;
    flow->ip6_has = play_choose(source, 2) * PACKET_IP6_UNORDERED;
}

static void choose_nd(PlaySource *source, PacketFlow *flow)
{
    bool ask = play_choose(source, 2);

    flow->has |= PACKET_FLOW_ND;
    flow->icmp_type = ask ? 135 : 136;
    flow->icmp_code = 0;
    flow->nd_target.s6_addr[8] = play_choose(source, 3);
    (ask ? flow->nd_sll : flow->nd_tll)[2] = play_choose(source, 3);
}

static void choose_icmp(PlaySource *source, PacketFlow *flow)
{
    bool ip4 = flow->has & PACKET_FLOW_IP4;

    flow->protocol = ip4 ? IPPROTO_ICMP : IPPROTO_ICMPV6;
    flow->has |= ip4 ? PACKET_FLOW_ICMP4 : PACKET_FLOW_ICMP6;
    flow->icmp_type = play_choose(source, 3);
    flow->icmp_code = play_choose(source, 3);
    if (!ip4 && play_choose(source, 2)) {
        choose_nd(source, flow);
    }
}

static void choose_transport(PlaySource *source, PacketFlow *flow)
{
    static const struct {
        uint8_t protocol;
        uint16_t has;
    } kinds[] = {
        { IPPROTO_TCP, PACKET_FLOW_TCP },
        { IPPROTO_UDP, PACKET_FLOW_UDP },
        { IPPROTO_SCTP, PACKET_FLOW_SCTP },
        { IPPROTO_TCP, PACKET_FLOW_FRAGMENT | PACKET_FLOW_LATER },
        { IPPROTO_ICMP, 0 },    /* cut, or of the other IP */
        { 99, 0 },
    };
    unsigned kind = play_choose(source, G_N_ELEMENTS(kinds) + 2);

    if (kind >= G_N_ELEMENTS(kinds)) {
        choose_icmp(source, flow);
        return;
    }
    flow->protocol = kinds[kind].protocol;
    flow->has |= kinds[kind].has;
    if (kind < 3) {
        flow->src_port = play_choose(source, 3) * 0x101;
        flow->dst_port = play_choose(source, 3) * 0x100;
    }
}

static void choose_arp(PlaySource *source, PacketFlow *flow)
{
    flow->eth.type = PACKET_ETH_ARP;
    flow->has = PACKET_FLOW_ARP;
    flow->arp_operation = play_choose(source, 3);
    flow->arp_spa.s_addr = htonl(0x0a000000 | play_choose(source, 3));
    flow->arp_tpa.s_addr = htonl(0xc0000000 | play_choose(source, 3) << 8);
    flow->arp_sha[5] = play_choose(source, 3);
    flow->arp_tha[0] = play_choose(source, 3);
}

void play_flow(PlaySource *source, PacketFlow *flow)
{
    static const uint16_t alone[] = {
        PACKET_ETH_IP4, PACKET_ETH_IP6, PACKET_ETH_ARP, PACKET_FLOW_NO_TYPE,
    };
    unsigned kind = play_choose(source, 8);

    memset(flow, 0, sizeof(*flow));
    flow->eth.dst[5] = play_choose(source, 3);
    flow->eth.src[0] = play_choose(source, 3);
    flow->eth.tags = play_choose(source, 3);
    if (flow->eth.tags) {
        flow->eth.tci[0] = play_choose(source, 2) << 13 |
                           play_choose(source, 2) << 12 |
                           play_choose(source, 3);
        flow->eth.tci[1] = 0xffff;
    }
    if (kind < 6) {
        flow->has = kind < 3 ? PACKET_FLOW_IP4 : PACKET_FLOW_IP6;
        choose_ip(source, flow);
        choose_transport(source, flow);
    } else if (kind == 6) {
        choose_arp(source, flow);
    } else {
        flow->eth.type = alone[play_choose(source, G_N_ELEMENTS(alone))];
    }
}

static void name(NaiveFields *match, CvswField field, const NaiveFields *frame)
{
    NaiveField *f = &match->field[field];
    size_t octets = cvsw_field_octets(field);
    unsigned padding = octets * 8 - cvsw_field_bits(field);

    f->is = true;
    f->value = frame->field[field].value;
    memset(&f->mask, 0, sizeof(f->mask));
    for (size_t i = 0; i < octets; i++) {
        f->mask.octets[i] = 0xff >> (padding > 8 * i ?
                                     MIN(padding - 8 * i, 8) : 0);
    }
}

/* Clears some bits of the mask; without any the field is removed. */
static void widen(PlaySource *source, NaiveFields *match, CvswField field)
{
    static const uint8_t masks[] = { 0xff, 0xff, 0, 0, 0xf0, 0x01, 0x7f, 0x03 };
    NaiveField *f = &match->field[field];
    bool any = false;

    for (size_t i = 0; i < cvsw_field_octets(field); i++) {
        f->mask.octets[i] &= masks[play_choose(source, G_N_ELEMENTS(masks))];
        f->value.octets[i] &= f->mask.octets[i];
        any |= f->mask.octets[i];
    }
    f->is = any;
}

/* Returns: the prerequisite of a field, or CVSW_FIELDS. */
static CvswField basis(CvswField field)
{
    switch (field) {
    case CVSW_IN_PORT ... CVSW_VLAN_VID:
    case CVSW_TUNNEL_ID:
        return CVSW_FIELDS;
    case CVSW_VLAN_PCP:
        return CVSW_VLAN_VID;
    case CVSW_TCP_SRC ... CVSW_ICMPV4_CODE:
    case CVSW_ICMPV6_TYPE:
    case CVSW_ICMPV6_CODE:
        return CVSW_IP_PROTO;
    case CVSW_IPV6_ND_TARGET ... CVSW_IPV6_ND_TLL:
        return CVSW_ICMPV6_TYPE;
    default:
        return CVSW_ETH_TYPE;
    }
}

void play_match(PlaySource *source, NaiveFields *match,
                const NaiveFields *frame)
{
    unsigned each = 2 + play_choose(source, 12);

    memset(match, 0, sizeof(*match));
    for (CvswField field = 0; field < CVSW_FIELDS; field++) {
        if (frame->field[field].is && play_choose(source, each) == 1) {
            name(match, field, frame);
            if (cvsw_field_maskable(field) && play_choose(source, 2)) {
                widen(source, match, field);
            }
        }
    }
    for (CvswField field = 0; field < CVSW_FIELDS; field++) {
        CvswField on = match->field[field].is ? basis(field) : CVSW_FIELDS;

        for (; on != CVSW_FIELDS; on = basis(on)) {
            name(match, on, frame);
        }
    }
}

static void note(void *opaque, const CvswEntry *entry, CvswRemovedWhy why)
{
    NaiveRemoved removed = {
        .cookie = entry->cookie, .priority = entry->priority,
        .packets = entry->packets, .why = why,
    };
    Play *play = opaque;

    g_array_append_val(play->removed, removed);
}

void play_begin(Play *play, unsigned entries_max, unsigned masks_max)
{
    play->table = cvsw_table_new(entries_max, masks_max, 1, note, play);
    play->naive = naive_new(entries_max);
    play->removed = g_array_new(false, true, sizeof(NaiveRemoved));
    play->now_ms = 1000;
}

static bool is_same_removed(const NaiveRemoved *a, const NaiveRemoved *b)
{
    return a->cookie == b->cookie && a->priority == b->priority &&
           a->packets == b->packets && a->why == b->why;
}

/* The order of entries that expire together does not matter. */
static void compare_removed(Play *play)
{
    GArray *ours = play->removed, *theirs = play->naive->removed;

    g_assert_cmpuint(ours->len, ==, theirs->len);
    for (; ours->len; g_array_set_size(ours, ours->len - 1)) {
        NaiveRemoved *last = &g_array_index(ours, NaiveRemoved, ours->len - 1);
        unsigned i = 0;

        while (!is_same_removed(last, &g_array_index(theirs, NaiveRemoved,
                                                     i))) {
            g_assert_cmpuint(++i, <, theirs->len);
        }
        g_array_remove_index_fast(theirs, i);
    }
}

static void compare_entries(const CvswEntry *ours, const NaiveEntry *theirs)
{
    CvswMatch match = naive_match(&theirs->match);

    g_assert_true(cvsw_match_equal(&ours->match, &match));
    g_assert_cmpuint(ours->priority, ==, theirs->priority);
    g_assert_cmpuint(ours->cookie, ==, theirs->cookie);
    g_assert_cmpuint(ours->idle_timeout, ==, theirs->idle_timeout);
    g_assert_cmpuint(ours->hard_timeout, ==, theirs->hard_timeout);
    g_assert_cmpuint(ours->flags, ==, theirs->flags);
    g_assert_cmpuint(ours->made_ms, ==, theirs->made_ms);
    g_assert_cmpuint(ours->used_ms, ==, theirs->used_ms);
    g_assert_cmpuint(ours->packets, ==, theirs->packets);
    g_assert_cmpuint(ours->octets, ==, theirs->octets);
    g_assert_cmpuint(ours->actions_len, ==, 1);
    g_assert_cmpuint(ours->actions[0].output.port, ==, theirs->port);
}

/* The expected entries, the next one last. */
static void compare_next(const CvswEntry *entry, void *data)
{
    GPtrArray *left = data;

    g_assert_cmpuint(left->len, >, 0);
    compare_entries(entry, left->pdata[left->len - 1]);
    g_ptr_array_set_size(left, left->len - 1);
}

/* The entries of a command (NULL: all), from the last to the first. */
static void compare_lists(Play *play, const CvswFilter *filter,
                          const CvswFlowMod *mod, const NaiveFields *match)
{
    g_autoptr(GPtrArray) left = g_ptr_array_new();

    for (int priority = 0; priority <= UINT8_MAX; priority++) {
        for (unsigned i = play->naive->entries->len; i > 0; i--) {
            NaiveEntry *entry = play->naive->entries->pdata[i - 1];

            if (entry->priority == priority &&
                (!mod || naive_takes(entry, mod, match))) {
                g_ptr_array_add(left, entry);
            }
        }
    }
    cvsw_table_foreach(play->table, filter, compare_next, left);
    g_assert_cmpuint(left->len, ==, 0);
}

static void list(Play *play, const CvswFlowMod *mod, const NaiveFields *match)
{
    CvswFilter filter = {
        .match = mod->match,
        .strict = mod->command == CVSW_DELETE_STRICT,
        .priority = mod->priority,
        .cookie = mod->cookie,
        .cookie_mask = mod->cookie_mask,
        .out_port = mod->out_port,
        .out_group = CVSW_ANY_GROUP,
    };

    compare_lists(play, &filter, mod, match);
}

static void look(Play *play, const PacketFlow *flow, const NaiveFields *frame,
                 uint32_t in_port, uint64_t tunnel_id)
{
    NaiveEntry *best = naive_find(play->naive, frame);
    CvswEntry *entry;
    CvswKey key;

    cvsw_key_of(&key, flow, in_port, tunnel_id);
    entry = cvsw_table_find(play->table, &key);
    g_assert_true(!entry == !best);
    if (!entry) {
        return;
    }
    g_assert_cmpuint(entry->priority, ==, best->priority);
    g_assert_true(entry == cvsw_table_find(play->table, &key));
    for (unsigned i = 0; i < play->naive->entries->len; i++) {
        NaiveEntry *each = play->naive->entries->pdata[i];
        CvswMatch match = naive_match(&each->match);

        if (each->priority == entry->priority &&
            cvsw_match_equal(&match, &entry->match)) {
            g_assert_true(naive_meets(&each->match, frame));
            compare_entries(entry, each);
            cvsw_entry_hit(entry, 60, play->now_ms);
            each->packets++;
            each->octets += 60;
            each->used_ms = play->now_ms;
            return;
        }
    }
    g_assert_not_reached();
}

static void choose_mod(Play *play, CvswFlowMod *mod, NaiveFields *match,
                       const NaiveFields *frame)
{
    static const uint64_t masks[] = { 0, 0, 1, 3 };
    PlaySource *source = &play->source;
    unsigned entries = play->naive->entries->len;

    memset(mod, 0, sizeof(*mod));
    mod->priority = play_choose(source, 4);
    play_match(source, match, frame);
    if (entries && play_choose(source, 3) == 1) {
        NaiveEntry *entry = g_ptr_array_index(play->naive->entries,
                                              play_choose(source, entries));

        *match = entry->match;
        mod->priority = entry->priority;
    }
    mod->match = naive_match(match);
    mod->cookie = play_choose(source, 4);
    mod->cookie_mask = masks[play_choose(source, G_N_ELEMENTS(masks))];
    mod->idle_timeout = play_choose(source, 4);
    mod->hard_timeout = play_choose(source, 4);
    mod->flags = play_choose(source, 2 * CVSW_FLOW_MODIFY_COOKIE);
    mod->out_port = play_choose(source, 2) ? play_choose(source, PORTS) :
                                             CVSW_ANY_PORT;
    mod->out_group = CVSW_ANY_GROUP;
    mod->actions_len = 1;
    mod->actions[0].type = CVSW_ACTION_OUTPUT;
    mod->actions[0].output.port = play_choose(source, PORTS);
}

static void command(Play *play, const CvswFlowMod *mod,
                    const NaiveFields *match)
{
    CvswFlowFault fault = cvsw_table_mod(play->table, mod, play->now_ms);
    CvswTableStats stats = cvsw_table_stats(play->table);

    /* The naive table has no limit of masks. */
    if (fault == CVSW_FLOW_TABLE_FULL && stats.entries < stats.entries_max) {
        g_assert_cmpuint(stats.masks, ==, stats.masks_max);
        g_assert_null(naive_same(play->naive, match, mod->priority));
        return;
    }
    g_assert_cmpint(fault, ==, naive_mod(play->naive, mod, match,
                                         play->now_ms));
}

static void expire(Play *play)
{
    uint64_t next, naive_next;

    play->now_ms += 200 * play_choose(&play->source, 8);
    next = cvsw_table_expire(play->table, play->now_ms);
    naive_next = naive_expire(play->naive, play->now_ms);
    g_assert_cmpuint(next, >, play->now_ms);
    g_assert_cmpuint(next, <=, naive_next);
    g_assert_true((next == UINT64_MAX) == (naive_next == UINT64_MAX));
}

void play_step(Play *play)
{
    uint32_t in_port = 1 + play_choose(&play->source, 2);
    uint64_t tunnel_id = play_choose(&play->source, 3) * 0x100000000001ull;
    NaiveFields frame, match;
    CvswTableStats stats;
    PacketFlow flow;
    CvswFlowMod mod;
    unsigned what;

    play_flow(&play->source, &flow);
    naive_frame(&frame, &flow, in_port, tunnel_id);
    choose_mod(play, &mod, &match, &frame);
    what = play_choose(&play->source, 24);
    if (what <= CVSW_DELETE_STRICT) {
        mod.command = what;
        command(play, &mod, &match);
    } else if (what < 14) {
        command(play, &mod, &match);
    } else if (what < 22) {
        look(play, &flow, &frame, in_port, tunnel_id);
    } else if (what < 23) {
        mod.command = play_choose(&play->source, 2) ? CVSW_DELETE
                                                    : CVSW_DELETE_STRICT;
        list(play, &mod, &match);
    } else {
        expire(play);
    }
    compare_removed(play);
    stats = cvsw_table_stats(play->table);
    g_assert_cmpuint(stats.entries, ==, play->naive->entries->len);
    g_assert_cmpuint(stats.masks, <=, stats.entries);
}

void play_end(Play *play)
{
    compare_lists(play, NULL, NULL, NULL);
    cvsw_table_free(play->table);
    naive_free(play->naive);
    g_array_free(play->removed, true);
}
