/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Action lists of OpenFlow 1.3 */
#include "hw/net/cvsw/openflow/actions13.h"
#include "hw/net/cvsw/openflow/known.h"
#include "hw/net/cvsw/openflow/octets.h"
#include "hw/net/cvsw/openflow/own.h"
#include "hw/net/cvsw/openflow/oxm.h"
#include "hw/net/cvsw/openflow/port.h"
#include "hw/net/cvsw/openflow/set10.h"

#define HEAD_LEN        4u      /* type and length */
#define SHORT_LEN       8u
#define OUTPUT_LEN      16u
#define MAX_LEN_AT      8u

static CvswOfFault parse_output(CvswAction *action, const CvswOfItem *item)
{
    if (item->len != OUTPUT_LEN) {
        return CVSW_OF_ACT_BAD_LEN;
    }
    action->type = CVSW_ACTION_OUTPUT;
    action->output.port = get_be32(item->octets + HEAD_LEN);
    if (action->output.port == CVSW_OUT_CONTROLLER) {
        action->output.max_len = get_be16(item->octets + MAX_LEN_AT);
    }
    return cvsw_of_port_is_out(action->output.port) ?
           CVSW_OF_OK : CVSW_OF_ACT_BAD_OUT_PORT;
}

static CvswOfFault parse_push_vlan(CvswAction *action, const CvswOfItem *item)
{
    action->type = CVSW_ACTION_PUSH_VLAN;
    action->number = get_be16(item->octets + HEAD_LEN);
    return action->number == PACKET_ETH_VLAN ||
           action->number == PACKET_ETH_QINQ ?
           CVSW_OF_OK : CVSW_OF_ACT_BAD_ARGUMENT;
}

static CvswOfFault parse_set_ttl(CvswAction *action, const CvswOfItem *item)
{
    action->type = CVSW_ACTION_SET_TTL;
    action->number = item->octets[HEAD_LEN];
    return CVSW_OF_OK;
}

/* Parses the actions of fixed length. */
static CvswOfFault parse_short(CvswAction *action, const CvswOfItem *item)
{
    if (item->len != SHORT_LEN) {
        return CVSW_OF_ACT_BAD_LEN;
    }
    switch (item->type) {
    case OFPAT13_PUSH_VLAN:
        return parse_push_vlan(action, item);
    case OFPAT13_POP_VLAN:
        action->type = CVSW_ACTION_POP_VLAN;
        return CVSW_OF_OK;
    case OFPAT13_SET_NW_TTL:
        return parse_set_ttl(action, item);
    default:
        action->type = CVSW_ACTION_DEC_TTL;
        return CVSW_OF_OK;
    }
}

/* The flow table checks that the group exists. */
static CvswOfFault parse_group(CvswAction *action, const CvswOfItem *item)
{
    if (item->len != SHORT_LEN) {
        return CVSW_OF_ACT_BAD_LEN;
    }
    action->type = CVSW_ACTION_GROUP;
    action->group = get_be32(item->octets + HEAD_LEN);
    return action->group <= CVSW_GROUP_LAST ? CVSW_OF_OK
                                            : CVSW_OF_ACT_BAD_OUT_GROUP;
}

static CvswOfFault parse_action(CvswOfStep *step, const CvswOfItem *item)
{
    CvswAction *action = &step->action;

    switch (item->type) {
    case OFPAT13_OUTPUT:
        return parse_output(action, item);
    case OFPAT13_PUSH_VLAN:
    case OFPAT13_POP_VLAN:
    case OFPAT13_SET_NW_TTL:
    case OFPAT13_DEC_NW_TTL:
        return parse_short(action, item);
    case OFPAT13_SET_FIELD:
        return cvsw_of_oxm_parse_set(action, item->octets + HEAD_LEN,
                                     item->len - HEAD_LEN);
    case OFPAT13_SET_QUEUE:
        return CVSW_OF_ACT_BAD_QUEUE;
    case OFPAT13_GROUP:
        return parse_group(action, item);
    case OFPAT_EXPERIMENTER:
        return cvsw_of_own_parse(step, OFP13_VERSION, item);
    default:
        return CVSW_OF_ACT_BAD_TYPE;
    }
}

CvswOfFault cvsw_of_actions13_parse(CvswOfSteps *steps, const uint8_t *buf,
                                    size_t len)
{
    return cvsw_of_steps_parse(steps, buf, len, parse_action);
}

/* --- build --------------------------------------------------------------- */

static void head(GByteArray *out, uint16_t type, uint16_t len)
{
    cvsw_of_put16(out, type);
    cvsw_of_put16(out, len);
}

static void build_set_field(GByteArray *out, const CvswAction *action)
{
    size_t from = out->len;

    head(out, OFPAT13_SET_FIELD, 0);
    cvsw_of_oxm_build_set(out, action);
    cvsw_of_pad(out, from);
    cvsw_of_put_at(out, from + 2, out->len - from);
}

/* Returns: false if standard 1.3 has no such action */
static bool build_action(GByteArray *out, const CvswAction *action)
{
    size_t from = out->len;

    switch (action->type) {
    case CVSW_ACTION_OUTPUT:
        head(out, OFPAT13_OUTPUT, OUTPUT_LEN);
        cvsw_of_put32(out, action->output.port);
        cvsw_of_put16(out, action->output.max_len);
        break;
    case CVSW_ACTION_SET_FIELD:
        build_set_field(out, action);
        break;
    case CVSW_ACTION_PUSH_VLAN:
        head(out, OFPAT13_PUSH_VLAN, SHORT_LEN);
        cvsw_of_put16(out, action->number);
        break;
    case CVSW_ACTION_POP_VLAN:
        head(out, OFPAT13_POP_VLAN, SHORT_LEN);
        break;
    case CVSW_ACTION_SET_TTL:
        head(out, OFPAT13_SET_NW_TTL, SHORT_LEN);
        cvsw_of_put8(out, action->number);
        break;
    case CVSW_ACTION_DEC_TTL:
        head(out, OFPAT13_DEC_NW_TTL, SHORT_LEN);
        break;
    case CVSW_ACTION_GROUP:
        head(out, OFPAT13_GROUP, SHORT_LEN);
        cvsw_of_put32(out, action->group);
        break;
    default:
        return false;
    }
    cvsw_of_pad(out, from);
    return true;
}

/* Builds actions that only 1.0 has, or that have fewer prerequisites in 1.0. */
static bool build_as10(GByteArray *out, const CvswAction *action)
{
    uint32_t value;
    uint16_t type;

    if (!cvsw_of_set10_get(action, &type, &value)) {
        return false;
    }
    cvsw_of_own_build10(out, type, value);
    return true;
}

void cvsw_of_actions13_build(GByteArray *out, const CvswMatch *match,
                             const CvswAction *actions, unsigned len)
{
    CvswOfKnown known = { 0 };

    if (match) {
        cvsw_of_known_init(&known, match);
    }
    for (unsigned i = 0; i < len; i++) {
        const CvswAction *action = &actions[i];
        bool is_told = match && !cvsw_of_known_allows(&known, action) &&
                       build_as10(out, action);

        if (!is_told && !build_action(out, action) &&
            !cvsw_of_own_build(out, action)) {
            build_as10(out, action);
        }
        cvsw_of_known_after(&known, action);
    }
}
