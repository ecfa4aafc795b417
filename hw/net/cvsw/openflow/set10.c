/* SPDX-License-Identifier: GPL-2.0-or-later */
/* 1.0's SET actions as actions of a flow (1.0.1 section 5.2.4) */
#include <stddef.h>

#include "hw/net/cvsw/openflow/set10.h"
#include "hw/net/cvsw/openflow/wire.h"

#define TOS_ECN         3u      /* a switch must not change ECN */

static const struct {
    uint16_t type;
    CvswActionType means;
    uint8_t octets;
    uint32_t max;
} sets[] = {
    { OFPAT10_SET_VLAN_VID, CVSW_ACTION_SET_VID, 2, 0xfff },
    { OFPAT10_SET_VLAN_PCP, CVSW_ACTION_SET_PCP, 1, 7 },
    { OFPAT10_STRIP_VLAN, CVSW_ACTION_POP_VLAN, 0, 0 },
    { OFPAT10_SET_NW_TOS, CVSW_ACTION_SET_TOS, 1, UINT8_MAX },
    { OFPAT10_SET_NW_SRC, CVSW_ACTION_SET_NW_SRC, 4, UINT32_MAX },
    { OFPAT10_SET_NW_DST, CVSW_ACTION_SET_NW_DST, 4, UINT32_MAX },
    { OFPAT10_SET_TP_SRC, CVSW_ACTION_SET_TP_SRC, 2, UINT16_MAX },
    { OFPAT10_SET_TP_DST, CVSW_ACTION_SET_TP_DST, 2, UINT16_MAX },
};

#define SETS            (sizeof(sets) / sizeof(*sets))

static bool is_address(CvswActionType type)
{
    return type == CVSW_ACTION_SET_NW_SRC || type == CVSW_ACTION_SET_NW_DST;
}

int cvsw_of_set10_octets(uint16_t type)
{
    for (size_t i = 0; i < SETS; i++) {
        if (sets[i].type == type) {
            return sets[i].octets;
        }
    }
    return -1;
}

CvswOfFault cvsw_of_set10_parse(CvswAction *action, uint16_t type,
                                uint32_t value)
{
    size_t i = 0;

    while (i < SETS && sets[i].type != type) {
        i++;
    }
    if (i == SETS) {
        return CVSW_OF_ACT_BAD_TYPE;
    }
    if (value > sets[i].max ||
        (type == OFPAT10_SET_NW_TOS && value & TOS_ECN)) {
        return CVSW_OF_ACT_BAD_ARGUMENT;
    }
    action->type = sets[i].means;
    if (is_address(action->type)) {
        action->ip4.s_addr = htonl(value);
    } else {
        action->number = value;
    }
    return CVSW_OF_OK;
}

bool cvsw_of_set10_get(const CvswAction *action, uint16_t *type,
                       uint32_t *value)
{
    for (size_t i = 0; i < SETS; i++) {
        if (sets[i].means == action->type) {
            *type = sets[i].type;
            *value = sets[i].octets == 0 ? 0 :
                     is_address(action->type) ? ntohl(action->ip4.s_addr) :
                     action->number;
            return true;
        }
    }
    return false;
}
