/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints flows and their actions */
#include <inttypes.h>

#include "hw/net/cvsw/openflow/dump.h"
#include "hw/net/cvsw/openflow/text.h"

#define TTL_DEFAULT     64

/* Open vSwitch's field names where they differ from OXM's. */
static const char *name_of(CvswField field)
{
    switch (field) {
    case CVSW_IP_ECN:
        return "nw_ecn";
    case CVSW_IPV4_SRC:
        return "ip_src";
    case CVSW_IPV4_DST:
        return "ip_dst";
    case CVSW_ICMPV4_TYPE:
        return "icmp_type";
    case CVSW_ICMPV4_CODE:
        return "icmp_code";
    case CVSW_IPV6_FLABEL:
        return "ipv6_label";
    case CVSW_IPV6_ND_TARGET:
        return "nd_target";
    case CVSW_IPV6_ND_SLL:
        return "nd_sll";
    case CVSW_IPV6_ND_TLL:
        return "nd_tll";
    case CVSW_TUNNEL_ID:
        return "tun_id";
    default:
        return cvsw_field_name(field);
    }
}

static void dump_output(GString *out, const CvswAction *action)
{
    switch (action->output.port) {
    case CVSW_OUT_IN_PORT:
        g_string_append(out, "IN_PORT");
        break;
    case CVSW_OUT_NORMAL:
        g_string_append(out, "NORMAL");
        break;
    case CVSW_OUT_FLOOD:
        g_string_append(out, "FLOOD");
        break;
    case CVSW_OUT_ALL:
        g_string_append(out, "ALL");
        break;
    case CVSW_OUT_CONTROLLER:
        g_string_append_printf(out, "CONTROLLER:%u", action->output.max_len);
        break;
    default:
        g_string_append_printf(out, "output:%u", action->output.port);
    }
}

static void dump_tunnel(GString *out, const CvswTunnel *t)
{
    g_string_append_printf(out, "tunnel_encap(vni=%u,local=", t->vni);
    cvsw_of_text_ip(out, t->is_ip6, t->local);
    g_string_append(out, ",remote=");
    cvsw_of_text_ip(out, t->is_ip6, t->remote);
    g_string_append(out, ",local_mac=");
    cvsw_of_text_mac(out, t->local_mac);
    g_string_append(out, ",remote_mac=");
    cvsw_of_text_mac(out, t->remote_mac);
    g_string_append_printf(out, ",port=%u,tos=%u,ttl=%u)", t->port, t->tos,
                           t->ttl ? t->ttl : TTL_DEFAULT);
}

/* Prints the actions that have a number. */
static void dump_number(GString *out, const CvswAction *action)
{
    static const char *const forms[] = {
        [CVSW_ACTION_PUSH_VLAN] = "push_vlan:0x%04x",
        [CVSW_ACTION_SET_VID] = "mod_vlan_vid:%u",
        [CVSW_ACTION_SET_PCP] = "mod_vlan_pcp:%u",
        [CVSW_ACTION_SET_TOS] = "mod_nw_tos:%u",
        [CVSW_ACTION_SET_TP_SRC] = "mod_tp_src:%u",
        [CVSW_ACTION_SET_TP_DST] = "mod_tp_dst:%u",
        [CVSW_ACTION_SET_TTL] = "mod_nw_ttl:%u",
    };

    g_string_append_printf(out, forms[action->type], action->number);
}

static void dump_field(GString *out, const CvswAction *action)
{
    g_string_append(out, "set_field:");
    cvsw_of_text(out, action->set.field, &action->set.value, NULL);
    g_string_append_printf(out, "->%s", name_of(action->set.field));
}

static void dump_address(GString *out, const CvswAction *action)
{
    g_string_append(out, action->type == CVSW_ACTION_SET_NW_SRC ?
                    "mod_nw_src:" : "mod_nw_dst:");
    cvsw_of_text_ip(out, false, (const uint8_t *)&action->ip4);
}

static void dump_crypt(GString *out, const CvswAction *action)
{
    g_string_append(out, action->type == CVSW_ACTION_ENCRYPT ? "encrypt"
                                                             : "decrypt");
    if (action->sa) {
        g_string_append_printf(out, "(sa=%u)", action->sa);
    }
}

static void dump_answer(GString *out, const char *name, const uint8_t *mac)
{
    g_string_append_printf(out, "%s(mac=", name);
    cvsw_of_text_mac(out, mac);
    g_string_append_c(out, ')');
}

static void dump_action(GString *out, const CvswAction *action)
{
    switch (action->type) {
    case CVSW_ACTION_OUTPUT:
        dump_output(out, action);
        break;
    case CVSW_ACTION_SET_FIELD:
        dump_field(out, action);
        break;
    case CVSW_ACTION_POP_VLAN:
        g_string_append(out, "pop_vlan");
        break;
    case CVSW_ACTION_DEC_TTL:
        g_string_append(out, "dec_ttl");
        break;
    case CVSW_ACTION_SET_NW_SRC:
    case CVSW_ACTION_SET_NW_DST:
        dump_address(out, action);
        break;
    case CVSW_ACTION_TUNNEL_ENCAP:
        dump_tunnel(out, &action->tunnel);
        break;
    case CVSW_ACTION_TUNNEL_DECAP:
        g_string_append(out, "tunnel_decap");
        break;
    case CVSW_ACTION_ENCRYPT:
    case CVSW_ACTION_DECRYPT:
        dump_crypt(out, action);
        break;
    case CVSW_ACTION_ANSWER_ND:
        dump_answer(out, "answer_nd", action->mac);
        break;
    case CVSW_ACTION_ANSWER_ARP:
        dump_answer(out, "answer_arp", action->mac);
        break;
    case CVSW_ACTION_GROUP:
        g_string_append_printf(out, "group:%u", action->group);
        break;
    default:
        dump_number(out, action);
    }
}

void cvsw_of_dump_actions(GString *out, const CvswAction *actions,
                          unsigned len)
{
    if (len == 0) {
        g_string_append(out, "drop");
    }
    for (unsigned i = 0; i < len; i++) {
        g_string_append(out, i ? "," : "");
        dump_action(out, &actions[i]);
    }
}

void cvsw_of_dump_duration(GString *out, uint64_t age_ms)
{
    g_string_append_printf(out, "%" PRIu64, age_ms / 1000);
    if (age_ms % 1000) {
        g_string_append_printf(out, ".%03u", (unsigned)(age_ms % 1000));
    }
    g_string_append_c(out, 's');
}

void cvsw_of_dump(GString *out, const CvswEntry *entry, uint64_t now_ms)
{
    size_t from;

    g_string_append_printf(out, " cookie=0x%" PRIx64 ", duration=",
                           entry->cookie);
    cvsw_of_dump_duration(out, now_ms - entry->made_ms);
    g_string_append_printf(out, ", table=0, n_packets=%" PRIu64
                           ", n_bytes=%" PRIu64 ", ", entry->packets,
                           entry->octets);
    if (entry->idle_timeout) {
        g_string_append_printf(out, "idle_timeout=%u, ", entry->idle_timeout);
    }
    if (entry->hard_timeout) {
        g_string_append_printf(out, "hard_timeout=%u, ", entry->hard_timeout);
    }
    if (entry->flags & CVSW_FLOW_SEND_REMOVED) {
        g_string_append(out, "send_flow_rem ");
    }
    from = out->len;
    cvsw_of_dump_match(out, &entry->match, entry->priority);
    g_string_append(out, out->len > from ? " actions=" : "actions=");
    cvsw_of_dump_actions(out, entry->actions, entry->actions_len);
}
