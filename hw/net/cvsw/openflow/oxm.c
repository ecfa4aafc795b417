/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OXM fields of OpenFlow 1.3: class, field, mask bit, length; value and mask */
#include <string.h>

#include "hw/net/cvsw/openflow/octets.h"
#include "hw/net/cvsw/openflow/oxm.h"
#include "hw/net/cvsw/openflow/port.h"

/* oxm_ofb_match_fields (1.3.5 table 11) */
static const uint8_t numbers[CVSW_FIELDS] = {
    [CVSW_IN_PORT] = 0,
    [CVSW_ETH_DST] = 3,
    [CVSW_ETH_SRC] = 4,
    [CVSW_ETH_TYPE] = 5,
    [CVSW_VLAN_VID] = 6,
    [CVSW_VLAN_PCP] = 7,
    [CVSW_IP_DSCP] = 8,
    [CVSW_IP_ECN] = 9,
    [CVSW_IP_PROTO] = 10,
    [CVSW_IPV4_SRC] = 11,
    [CVSW_IPV4_DST] = 12,
    [CVSW_TCP_SRC] = 13,
    [CVSW_TCP_DST] = 14,
    [CVSW_UDP_SRC] = 15,
    [CVSW_UDP_DST] = 16,
    [CVSW_SCTP_SRC] = 17,
    [CVSW_SCTP_DST] = 18,
    [CVSW_ICMPV4_TYPE] = 19,
    [CVSW_ICMPV4_CODE] = 20,
    [CVSW_ARP_OP] = 21,
    [CVSW_ARP_SPA] = 22,
    [CVSW_ARP_TPA] = 23,
    [CVSW_ARP_SHA] = 24,
    [CVSW_ARP_THA] = 25,
    [CVSW_IPV6_SRC] = 26,
    [CVSW_IPV6_DST] = 27,
    [CVSW_IPV6_FLABEL] = 28,
    [CVSW_ICMPV6_TYPE] = 29,
    [CVSW_ICMPV6_CODE] = 30,
    [CVSW_IPV6_ND_TARGET] = 31,
    [CVSW_IPV6_ND_SLL] = 32,
    [CVSW_IPV6_ND_TLL] = 33,
    [CVSW_TUNNEL_ID] = 38,
    [CVSW_IPV6_EXTHDR] = 39,
};

/* A parsed field; @field is CVSW_FIELDS if the field is not supported. */
typedef struct Oxm {
    CvswField field;
    bool has_mask;
    uint8_t len;                /* length of @payload */
    const uint8_t *payload;
} Oxm;

static CvswField field_of(uint16_t class, uint8_t number)
{
    CvswField field = 0;

    while (field < CVSW_FIELDS && numbers[field] != number) {
        field++;
    }
    return class == OFPXMC_OPENFLOW_BASIC ? field : CVSW_FIELDS;
}

/* Returns: false if it is longer than @len */
static bool parse(Oxm *oxm, const uint8_t *buf, size_t len)
{
    if (len < OXM_HEADER_LEN || OXM_HEADER_LEN + buf[3] > len) {
        return false;
    }
    oxm->field = field_of(get_be16(buf), buf[2] >> 1);
    oxm->has_mask = buf[2] & 1;
    oxm->len = buf[3];
    oxm->payload = buf + OXM_HEADER_LEN;
    return true;
}

static void build(GByteArray *out, CvswField field, const CvswValue *value,
                  const CvswValue *mask)
{
    size_t octets = cvsw_field_octets(field);

    cvsw_of_put16(out, OFPXMC_OPENFLOW_BASIC);
    cvsw_of_put8(out, numbers[field] << 1 | (mask ? 1 : 0));
    cvsw_of_put8(out, octets * (mask ? 2 : 1));
    cvsw_of_put(out, value->octets, octets);
    if (mask) {
        cvsw_of_put(out, mask->octets, octets);
    }
}

static CvswOfFault add(CvswMatch *match, const Oxm *oxm)
{
    CvswValue value = { { 0 } }, mask = { { 0 } };
    size_t octets;

    if (oxm->field == CVSW_FIELDS) {
        return CVSW_OF_MATCH_BAD_FIELD;
    }
    octets = cvsw_field_octets(oxm->field);
    if (oxm->len != octets * (oxm->has_mask ? 2 : 1)) {
        return CVSW_OF_MATCH_BAD_LEN;
    }
    memcpy(value.octets, oxm->payload, octets);
    if (oxm->has_mask) {
        memcpy(mask.octets, oxm->payload + octets, octets);
    }
    if (oxm->field == CVSW_IN_PORT &&
        !cvsw_of_port_is_ours(get_be32(value.octets))) {
        return CVSW_OF_MATCH_BAD_VALUE;
    }
    return cvsw_of_match_fault(cvsw_match_add(match, oxm->field, &value,
                                              oxm->has_mask ? &mask : NULL));
}

static CvswOfFault add_all(CvswMatch *match, const uint8_t *buf, size_t len)
{
    size_t pos = 0;
    Oxm oxm;

    while (pos < len) {
        CvswOfFault fault = CVSW_OF_MATCH_BAD_LEN;

        if (parse(&oxm, buf + pos, len - pos)) {
            fault = add(match, &oxm);
        }
        if (fault != CVSW_OF_OK) {
            return fault;
        }
        pos += OXM_HEADER_LEN + oxm.len;
    }
    return cvsw_of_match_fault(cvsw_match_check(match));
}

CvswOfFault cvsw_of_oxm_parse(CvswMatch *match, const uint8_t *buf, size_t len,
                              size_t *used)
{
    size_t size;

    if (len < OFP13_MATCH_HEAD_LEN) {
        return CVSW_OF_MATCH_BAD_LEN;
    }
    if (get_be16(buf) != OFPMT_OXM) {
        return CVSW_OF_MATCH_BAD_TYPE;
    }
    size = get_be16(buf + 2);
    *used = (size + 7) / 8 * 8;
    if (size < OFP13_MATCH_HEAD_LEN || *used > len) {
        return CVSW_OF_MATCH_BAD_LEN;
    }
    return add_all(match, buf + OFP13_MATCH_HEAD_LEN,
                   size - OFP13_MATCH_HEAD_LEN);
}

static bool is_whole(CvswField field, const CvswValue *mask)
{
    CvswValue all = { { 0 } };
    unsigned bits = cvsw_field_bits(field);
    size_t octets = cvsw_field_octets(field);

    for (unsigned bit = 0; bit < bits; bit++) {
        all.octets[octets - 1 - bit / 8] |= 1 << bit % 8;
    }
    return !memcmp(all.octets, mask->octets, octets);
}

/* A prerequisite has a lower number than the field, so this order is valid. */
void cvsw_of_oxm_build(GByteArray *out, const CvswMatch *match)
{
    size_t from = out->len;
    CvswValue value, mask;

    cvsw_of_put16(out, OFPMT_OXM);
    cvsw_of_put16(out, 0);
    for (CvswField field = 0; field < CVSW_FIELDS; field++) {
        if (cvsw_match_get(match, field, &value, &mask)) {
            build(out, field, &value, is_whole(field, &mask) ? NULL : &mask);
        }
    }
    cvsw_of_put_at(out, from + 2, out->len - from);
    cvsw_of_pad(out, from);
}

CvswOfFault cvsw_of_oxm_parse_set(CvswAction *action, const uint8_t *buf,
                                  size_t len)
{
    CvswMatch probe = { .fields = 0 };
    CvswValue value = { { 0 } };
    Oxm oxm;

    if (!parse(&oxm, buf, len)) {
        return CVSW_OF_ACT_BAD_SET_LEN;
    }
    if (oxm.field == CVSW_FIELDS || oxm.has_mask ||
        !cvsw_field_settable(oxm.field)) {
        return CVSW_OF_ACT_BAD_SET_TYPE;
    }
    /* The padding has less than 8 octets. */
    if (oxm.len != cvsw_field_octets(oxm.field) ||
        len - OXM_HEADER_LEN - oxm.len > 7) {
        return CVSW_OF_ACT_BAD_SET_LEN;
    }
    memcpy(value.octets, oxm.payload, oxm.len);
    if (cvsw_match_add(&probe, oxm.field, &value, NULL) != CVSW_MATCH_OK) {
        return CVSW_OF_ACT_BAD_SET_ARGUMENT;
    }
    /* Only POP_VLAN may remove a tag. */
    if (oxm.field == CVSW_VLAN_VID &&
        !(get_be16(value.octets) & CVSW_VID_PRESENT)) {
        return CVSW_OF_ACT_BAD_SET_ARGUMENT;
    }
    action->type = CVSW_ACTION_SET_FIELD;
    action->set.field = oxm.field;
    cvsw_match_get(&probe, oxm.field, &action->set.value, &action->set.mask);
    return CVSW_OF_OK;
}

void cvsw_of_oxm_build_set(GByteArray *out, const CvswAction *action)
{
    build(out, action->set.field, &action->set.value, NULL);
}
