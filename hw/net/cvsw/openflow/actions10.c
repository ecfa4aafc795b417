/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Action lists of OpenFlow 1.0: type, length, argument */
#include "hw/net/cvsw/openflow/actions10.h"
#include "hw/net/cvsw/openflow/octets.h"
#include "hw/net/cvsw/openflow/own.h"
#include "hw/net/cvsw/openflow/port.h"
#include "hw/net/cvsw/openflow/set10.h"

#define SHORT_LEN       8u      /* all actions except SET_DL_SRC, SET_DL_DST */
#define SET_DL_LEN      16u
#define ARGUMENT_AT     4u
#define MAX_LEN_AT      6u

static CvswOfFault parse_output(CvswAction *action, const CvswOfItem *item)
{
    uint16_t port = get_be16(item->octets + ARGUMENT_AT);

    if (item->len != SHORT_LEN) {
        return CVSW_OF_ACT_BAD_LEN;
    }
    action->type = CVSW_ACTION_OUTPUT;
    action->output.port = cvsw_of_port_of10(port);
    if (action->output.port == CVSW_OUT_CONTROLLER) {
        action->output.max_len = get_be16(item->octets + MAX_LEN_AT);
    }
    return cvsw_of_port_is_out(action->output.port) ?
           CVSW_OF_OK : CVSW_OF_ACT_BAD_OUT_PORT;
}

static CvswOfFault parse_set_dl(CvswAction *action, const CvswOfItem *item,
                                CvswField field)
{
    if (item->len != SET_DL_LEN) {
        return CVSW_OF_ACT_BAD_LEN;
    }
    action->type = CVSW_ACTION_SET_FIELD;
    action->set.field = field;
    memcpy(action->set.value.octets, item->octets + ARGUMENT_AT,
           PACKET_ETH_ADDR_LEN);
    memset(action->set.mask.octets, 0xff, PACKET_ETH_ADDR_LEN);
    return CVSW_OF_OK;
}

static CvswOfFault parse_set(CvswAction *action, const CvswOfItem *item)
{
    int octets = cvsw_of_set10_octets(item->type);
    uint32_t value = 0;

    if (octets < 0) {
        return CVSW_OF_ACT_BAD_TYPE;
    }
    if (item->len != SHORT_LEN) {
        return CVSW_OF_ACT_BAD_LEN;
    }
    for (int i = 0; i < octets; i++) {
        value = value << 8 | item->octets[ARGUMENT_AT + i];
    }
    return cvsw_of_set10_parse(action, item->type, value);
}

static CvswOfFault parse_action(CvswOfStep *step, const CvswOfItem *item)
{
    step->is_free = true;
    switch (item->type) {
    case OFPAT10_OUTPUT:
        return parse_output(&step->action, item);
    case OFPAT10_SET_DL_SRC:
        return parse_set_dl(&step->action, item, CVSW_ETH_SRC);
    case OFPAT10_SET_DL_DST:
        return parse_set_dl(&step->action, item, CVSW_ETH_DST);
    case OFPAT10_ENQUEUE:
        return CVSW_OF_ACT_BAD_QUEUE;
    case OFPAT_EXPERIMENTER:
        return cvsw_of_own_parse(step, OFP10_VERSION, item);
    default:
        return parse_set(&step->action, item);
    }
}

CvswOfFault cvsw_of_actions10_parse(CvswOfSteps *steps, const uint8_t *buf,
                                    size_t len)
{
    return cvsw_of_steps_parse(steps, buf, len, parse_action);
}

static void head(GByteArray *out, uint16_t type, uint16_t len)
{
    cvsw_of_put16(out, type);
    cvsw_of_put16(out, len);
}

/* Builds 1.0's action for a field, if 1.0 has one. */
static bool build_field(GByteArray *out, const CvswAction *action)
{
    size_t from = out->len;

    if (action->set.field != CVSW_ETH_SRC &&
        action->set.field != CVSW_ETH_DST) {
        return false;
    }
    head(out, action->set.field == CVSW_ETH_SRC ? OFPAT10_SET_DL_SRC
                                                : OFPAT10_SET_DL_DST,
         SET_DL_LEN);
    cvsw_of_put(out, action->set.value.octets, PACKET_ETH_ADDR_LEN);
    cvsw_of_pad(out, from);
    return true;
}

static bool build_set(GByteArray *out, const CvswAction *action)
{
    size_t from = out->len;
    uint32_t value;
    uint16_t type;
    int octets;

    if (!cvsw_of_set10_get(action, &type, &value)) {
        return false;
    }
    head(out, type, SHORT_LEN);
    octets = cvsw_of_set10_octets(type);
    for (int i = octets - 1; i >= 0; i--) {
        cvsw_of_put8(out, value >> 8 * i);
    }
    cvsw_of_pad(out, from);
    return true;
}

static bool build_action(GByteArray *out, const CvswAction *action)
{
    if (action->type == CVSW_ACTION_OUTPUT) {
        head(out, OFPAT10_OUTPUT, SHORT_LEN);
        cvsw_of_put16(out, action->output.port);
        cvsw_of_put16(out, action->output.max_len);
        return true;
    }
    if (action->type == CVSW_ACTION_SET_FIELD) {
        return build_field(out, action);
    }
    return build_set(out, action) || cvsw_of_own_build(out, action);
}

bool cvsw_of_actions10_build(GByteArray *out, const CvswAction *actions,
                             unsigned len)
{
    for (unsigned i = 0; i < len; i++) {
        if (!build_action(out, &actions[i])) {
            return false;
        }
    }
    return true;
}
