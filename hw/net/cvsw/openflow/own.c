/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Our actions: tunnels, encryption, answers, and OpenFlow 1.0's actions in 1.3
 */
#include <assert.h>
#include <string.h>

#include "hw/net/cvsw/openflow/set10.h"
#include "hw/net/cvsw/openflow/octets.h"
#include "hw/net/cvsw/openflow/own.h"
#include "hw/net/cvsw/openflow/wire.h"
#include "vmmnet/cvsw-action.h"

#define SUBTYPE_AT      offsetof(struct cvsw_act_header, subtype)
#define VNI_MAX         0xffffffu

static_assert(sizeof(struct cvsw_act_plain) == CVSW_ACT_PLAIN_LEN, "");
static_assert(sizeof(struct cvsw_act_crypt) == CVSW_ACT_CRYPT_LEN, "");
static_assert(sizeof(struct cvsw_act_openflow10) == CVSW_ACT_OPENFLOW10_LEN,
              "");
static_assert(sizeof(struct cvsw_act_answer) == CVSW_ACT_ANSWER_LEN, "");
static_assert(sizeof(struct cvsw_act_encap4) == CVSW_ACT_ENCAP4_LEN, "");
static_assert(sizeof(struct cvsw_act_encap6) == CVSW_ACT_ENCAP6_LEN, "");

/* --- parse --------------------------------------------------------------- */

static bool is_zero(const uint8_t *octets, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (octets[i]) {
            return false;
        }
    }
    return true;
}

static CvswOfFault parse_decap(CvswAction *action, const CvswOfItem *item)
{
    struct cvsw_act_plain plain;

    if (item->len != sizeof(plain)) {
        return CVSW_OF_ACT_BAD_LEN;
    }
    memcpy(&plain, item->octets, sizeof(plain));
    if (!is_zero(plain.reserved, sizeof(plain.reserved))) {
        return CVSW_OF_ACT_BAD_ARGUMENT;
    }
    action->type = CVSW_ACTION_TUNNEL_DECAP;
    return CVSW_OF_OK;
}

static CvswOfFault parse_crypt(CvswAction *action, const CvswOfItem *item,
                               CvswActionType type)
{
    struct cvsw_act_crypt crypt;

    if (item->len != sizeof(crypt)) {
        return CVSW_OF_ACT_BAD_LEN;
    }
    memcpy(&crypt, item->octets, sizeof(crypt));
    action->type = type;
    action->sa = ntohl(crypt.sa);
    if (crypt.reserved || (type == CVSW_ACTION_ENCRYPT && !action->sa)) {
        return CVSW_OF_ACT_BAD_ARGUMENT;
    }
    return CVSW_OF_OK;
}

static CvswOfFault parse_answer(CvswAction *action, const CvswOfItem *item,
                                CvswActionType type)
{
    struct cvsw_act_answer answer;

    if (item->len != sizeof(answer)) {
        return CVSW_OF_ACT_BAD_LEN;
    }
    memcpy(&answer, item->octets, sizeof(answer));
    action->type = type;
    memcpy(action->mac, answer.mac, PACKET_ETH_ADDR_LEN);
    return packet_eth_is_station(action->mac) ? CVSW_OF_OK
                                              : CVSW_OF_ACT_BAD_ARGUMENT;
}

static bool is_group(bool is_ip6, const uint8_t *addr)
{
    return is_ip6 ? addr[0] == 0xff : addr[0] >> 4 == 0xe;
}

/* The source must be unicast; the target's MAC and IP address must agree. */
static bool tunnel_is_good(const CvswTunnel *t)
{
    size_t len = t->is_ip6 ? 16 : 4;

    return t->port && t->vni <= VNI_MAX &&
           packet_eth_is_station(t->local_mac) &&
           !is_zero(t->remote_mac, PACKET_ETH_ADDR_LEN) &&
           !is_zero(t->local, len) && !is_group(t->is_ip6, t->local) &&
           !is_zero(t->remote, len) &&
           packet_eth_is_group(t->remote_mac) ==
           is_group(t->is_ip6, t->remote);
}

static CvswOfFault parse_encap(CvswAction *action, const CvswOfItem *item)
{
    CvswTunnel *t = &action->tunnel;
    struct cvsw_act_encap head;
    size_t len;

    if (item->len < sizeof(head)) {
        return CVSW_OF_ACT_BAD_LEN;
    }
    memcpy(&head, item->octets, sizeof(head));
    if (head.version != 4 && head.version != 6) {
        return CVSW_OF_ACT_BAD_ARGUMENT;
    }
    t->is_ip6 = head.version == 6;
    len = t->is_ip6 ? 16 : 4;
    if (item->len != sizeof(head) + 2 * len) {
        return CVSW_OF_ACT_BAD_LEN;
    }
    action->type = CVSW_ACTION_TUNNEL_ENCAP;
    memcpy(t->local, item->octets + sizeof(head), len);
    memcpy(t->remote, item->octets + sizeof(head) + len, len);
    memcpy(t->local_mac, head.local_mac, PACKET_ETH_ADDR_LEN);
    memcpy(t->remote_mac, head.remote_mac, PACKET_ETH_ADDR_LEN);
    t->vni = ntohl(head.vni);
    t->port = ntohs(head.port);
    t->tos = head.tos;
    t->ttl = head.ttl;
    return head.reserved || !tunnel_is_good(t) ? CVSW_OF_ACT_BAD_ARGUMENT
                                               : CVSW_OF_OK;
}

static CvswOfFault parse_openflow10(CvswAction *action, uint8_t version,
                                    const CvswOfItem *item)
{
    struct cvsw_act_openflow10 old;

    if (version != OFP13_VERSION) {
        return CVSW_OF_ACT_BAD_EXP_TYPE;
    }
    if (item->len != sizeof(old)) {
        return CVSW_OF_ACT_BAD_LEN;
    }
    memcpy(&old, item->octets, sizeof(old));
    return cvsw_of_set10_parse(action, ntohs(old.action), ntohl(old.value));
}

CvswOfFault cvsw_of_own_parse(CvswOfStep *step, uint8_t version,
                              const CvswOfItem *item)
{
    CvswAction *action = &step->action;

    if (get_be32(item->octets + 4) != CVSW_ACT_EXPERIMENTER) {
        return CVSW_OF_ACT_BAD_EXPERIMENTER;
    }
    if (item->len < sizeof(struct cvsw_act_header)) {
        return CVSW_OF_ACT_BAD_LEN;
    }
    step->is_free = true;
    switch (get_be16(item->octets + SUBTYPE_AT)) {
    case CVSW_ACT_TUNNEL_ENCAP:
        return parse_encap(action, item);
    case CVSW_ACT_TUNNEL_DECAP:
        return parse_decap(action, item);
    case CVSW_ACT_ENCRYPT:
        return parse_crypt(action, item, CVSW_ACTION_ENCRYPT);
    case CVSW_ACT_DECRYPT:
        return parse_crypt(action, item, CVSW_ACTION_DECRYPT);
    case CVSW_ACT_OPENFLOW10:
        return parse_openflow10(action, version, item);
    case CVSW_ACT_ANSWER_ND:
        return parse_answer(action, item, CVSW_ACTION_ANSWER_ND);
    case CVSW_ACT_ANSWER_ARP:
        return parse_answer(action, item, CVSW_ACTION_ANSWER_ARP);
    default:
        return CVSW_OF_ACT_BAD_EXP_TYPE;
    }
}

/* --- build --------------------------------------------------------------- */

static void head(GByteArray *out, size_t len, uint16_t subtype)
{
    cvsw_of_put16(out, CVSW_ACT_TYPE);
    cvsw_of_put16(out, len);
    cvsw_of_put32(out, CVSW_ACT_EXPERIMENTER);
    cvsw_of_put16(out, subtype);
}

static void build_encap(GByteArray *out, const CvswTunnel *t)
{
    size_t len = t->is_ip6 ? 16 : 4;

    head(out, sizeof(struct cvsw_act_encap) + 2 * len, CVSW_ACT_TUNNEL_ENCAP);
    cvsw_of_put8(out, t->is_ip6 ? 6 : 4);
    cvsw_of_put8(out, t->tos);
    cvsw_of_put8(out, t->ttl);
    cvsw_of_put8(out, 0);
    cvsw_of_put16(out, t->port);
    cvsw_of_put32(out, t->vni);
    cvsw_of_put(out, t->local_mac, PACKET_ETH_ADDR_LEN);
    cvsw_of_put(out, t->remote_mac, PACKET_ETH_ADDR_LEN);
    cvsw_of_put(out, t->local, len);
    cvsw_of_put(out, t->remote, len);
}

static void build_crypt(GByteArray *out, uint16_t subtype, uint32_t sa)
{
    head(out, CVSW_ACT_CRYPT_LEN, subtype);
    cvsw_of_put16(out, 0);
    cvsw_of_put32(out, sa);
}

static void build_answer(GByteArray *out, uint16_t subtype,
                         const uint8_t *mac)
{
    head(out, CVSW_ACT_ANSWER_LEN, subtype);
    cvsw_of_put(out, mac, PACKET_ETH_ADDR_LEN);
}

bool cvsw_of_own_build(GByteArray *out, const CvswAction *action)
{
    size_t from = out->len;

    switch (action->type) {
    case CVSW_ACTION_TUNNEL_ENCAP:
        build_encap(out, &action->tunnel);
        return true;
    case CVSW_ACTION_TUNNEL_DECAP:
        head(out, CVSW_ACT_PLAIN_LEN, CVSW_ACT_TUNNEL_DECAP);
        cvsw_of_pad(out, from);
        return true;
    case CVSW_ACTION_ENCRYPT:
        build_crypt(out, CVSW_ACT_ENCRYPT, action->sa);
        return true;
    case CVSW_ACTION_DECRYPT:
        build_crypt(out, CVSW_ACT_DECRYPT, action->sa);
        return true;
    case CVSW_ACTION_ANSWER_ND:
        build_answer(out, CVSW_ACT_ANSWER_ND, action->mac);
        return true;
    case CVSW_ACTION_ANSWER_ARP:
        build_answer(out, CVSW_ACT_ANSWER_ARP, action->mac);
        return true;
    default:
        return false;
    }
}

void cvsw_of_own_build10(GByteArray *out, uint16_t type, uint32_t value)
{
    head(out, CVSW_ACT_OPENFLOW10_LEN, CVSW_ACT_OPENFLOW10);
    cvsw_of_put16(out, type);
    cvsw_of_put32(out, value);
}
