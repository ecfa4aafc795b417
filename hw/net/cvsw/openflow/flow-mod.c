/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses FLOW_MODs of both versions */
#include <string.h>

#include "hw/net/cvsw/openflow/actions10.h"
#include "hw/net/cvsw/openflow/flow-mod.h"
#include "hw/net/cvsw/openflow/instructions.h"
#include "hw/net/cvsw/openflow/match10.h"
#include "hw/net/cvsw/openflow/octets.h"
#include "hw/net/cvsw/openflow/oxm.h"
#include "hw/net/cvsw/openflow/port.h"

static bool is_delete(const CvswFlowMod *mod)
{
    return mod->command == CVSW_DELETE || mod->command == CVSW_DELETE_STRICT;
}

static CvswOfFault set_command(CvswFlowMod *mod, unsigned command)
{
    static const CvswCommand commands[] = {
        [OFPFC_ADD] = CVSW_ADD,
        [OFPFC_MODIFY] = CVSW_MODIFY,
        [OFPFC_MODIFY_STRICT] = CVSW_MODIFY_STRICT,
        [OFPFC_DELETE] = CVSW_DELETE,
        [OFPFC_DELETE_STRICT] = CVSW_DELETE_STRICT,
    };

    if (command >= sizeof(commands) / sizeof(*commands)) {
        return CVSW_OF_BAD_COMMAND;
    }
    mod->command = commands[command];
    return CVSW_OF_OK;
}

/* Resets the members that the command does not use. */
static void reset_unused(CvswFlowMod *mod)
{
    if (is_delete(mod)) {
        mod->idle_timeout = mod->hard_timeout = 0;
        mod->flags = 0;
        mod->actions_len = 0;
        memset(mod->actions, 0, sizeof(mod->actions));
    } else {
        mod->out_port = CVSW_ANY_PORT;
        mod->out_group = CVSW_ANY_GROUP;
    }
}

/* --- OpenFlow 1.0 -------------------------------------------------------- */

static CvswOfFault set_flags10(CvswFlowMod *mod, unsigned flags)
{
    if (flags & OFPFF10_EMERG) {
        return mod->idle_timeout || mod->hard_timeout ?
               CVSW_OF_EMERG_TIMEOUT : CVSW_OF_EMERG;
    }
    if (flags & ~(OFPFF_SEND_FLOW_REM | OFPFF_CHECK_OVERLAP)) {
        return CVSW_OF_BAD_FLAGS;
    }
    /* Section 4.6: the counters of a replaced flow start at 0. */
    mod->flags = mod->command == CVSW_ADD ? CVSW_FLOW_RESET_COUNTS :
                 CVSW_FLOW_MODIFY_ADDS | CVSW_FLOW_MODIFY_COOKIE;
    mod->flags |= CVSW_FLOW_OPENFLOW10;
    mod->flags |= flags & OFPFF_SEND_FLOW_REM ? CVSW_FLOW_SEND_REMOVED : 0;
    mod->flags |= flags & OFPFF_CHECK_OVERLAP ? CVSW_FLOW_CHECK_OVERLAP : 0;
    return CVSW_OF_OK;
}

static CvswOfFault parse_head10(CvswFlowMod *mod, const uint8_t *msg)
{
    const uint8_t *match = msg + OFM10_MATCH;
    CvswOfFault fault = set_command(mod, get_be16(msg + OFM10_COMMAND));

    if (fault != CVSW_OF_OK) {
        return fault;
    }
    mod->cookie = get_be64(msg + OFM10_COOKIE);
    mod->idle_timeout = get_be16(msg + OFM10_IDLE_TIMEOUT);
    mod->hard_timeout = get_be16(msg + OFM10_HARD_TIMEOUT);
    mod->priority = get_be16(msg + OFM10_PRIORITY);
    mod->out_port = get_be16(msg + OFM10_OUT_PORT) == OFPP10_NONE ?
                    CVSW_ANY_PORT :
                    cvsw_of_port_of10(get_be16(msg + OFM10_OUT_PORT));
    mod->out_group = CVSW_ANY_GROUP;
    /* Section 3.4: a match without wildcards has the highest priority. */
    if (!(get_be32(match + OFM10_WILDCARDS) & OFPFW_ALL)) {
        mod->priority = UINT16_MAX;
    }
    if (!is_delete(mod) &&
        get_be32(msg + OFM10_BUFFER_ID) != OFP_NO_BUFFER) {
        return CVSW_OF_BUFFER_UNKNOWN;
    }
    return set_flags10(mod, get_be16(msg + OFM10_FLAGS));
}

static CvswOfFault parse10(CvswFlowMod *mod, const uint8_t *msg, size_t len)
{
    CvswOfSteps steps = { .len = 0 };
    CvswOfFault fault;

    if (len < OFM10_ACTIONS) {
        return CVSW_OF_BAD_LEN;
    }
    fault = parse_head10(mod, msg);
    if (fault == CVSW_OF_OK) {
        fault = cvsw_of_match10_parse(&mod->match, msg + OFM10_MATCH);
    }
    if (fault == CVSW_OF_OK) {
        fault = cvsw_of_actions10_parse(&steps, msg + OFM10_ACTIONS,
                                        len - OFM10_ACTIONS);
    }
    for (unsigned i = 0; i < steps.len; i++) {
        mod->actions[i] = steps.step[i].action;
    }
    mod->actions_len = steps.len;
    return fault;
}

/* --- OpenFlow 1.3 -------------------------------------------------------- */

/* Counters are always kept, so the NO_..._COUNTS flags change nothing. */
static CvswOfFault set_flags13(CvswFlowMod *mod, unsigned flags)
{
    const unsigned known = OFPFF_SEND_FLOW_REM | OFPFF_CHECK_OVERLAP |
                           OFPFF13_RESET_COUNTS | OFPFF13_NO_PKT_COUNTS |
                           OFPFF13_NO_BYT_COUNTS;

    if (flags & ~known) {
        return CVSW_OF_BAD_FLAGS;
    }
    mod->flags = 0;
    mod->flags |= flags & OFPFF_SEND_FLOW_REM ? CVSW_FLOW_SEND_REMOVED : 0;
    mod->flags |= flags & OFPFF_CHECK_OVERLAP ? CVSW_FLOW_CHECK_OVERLAP : 0;
    mod->flags |= flags & OFPFF13_RESET_COUNTS ? CVSW_FLOW_RESET_COUNTS : 0;
    return CVSW_OF_OK;
}

static CvswOfFault parse_head13(CvswFlowMod *mod, const uint8_t *msg)
{
    CvswOfFault fault = set_command(mod, msg[OFM13_COMMAND]);
    uint8_t table = msg[OFM13_TABLE_ID];

    if (fault != CVSW_OF_OK) {
        return fault;
    }
    if (table != 0 && !(table == OFPTT_ALL && is_delete(mod))) {
        return CVSW_OF_BAD_TABLE_ID;
    }
    mod->cookie = get_be64(msg + OFM13_COOKIE);
    if (mod->command != CVSW_ADD) {
        mod->cookie_mask = get_be64(msg + OFM13_COOKIE_MASK);
    }
    mod->idle_timeout = get_be16(msg + OFM13_IDLE_TIMEOUT);
    mod->hard_timeout = get_be16(msg + OFM13_HARD_TIMEOUT);
    mod->priority = get_be16(msg + OFM13_PRIORITY);
    mod->out_port = get_be32(msg + OFM13_OUT_PORT);
    mod->out_group = get_be32(msg + OFM13_OUT_GROUP);
    if (!is_delete(mod) &&
        get_be32(msg + OFM13_BUFFER_ID) != OFP_NO_BUFFER) {
        return CVSW_OF_BUFFER_UNKNOWN;
    }
    return set_flags13(mod, get_be16(msg + OFM13_FLAGS));
}

static CvswOfFault parse13(CvswFlowMod *mod, const uint8_t *msg, size_t len)
{
    CvswOfFault fault;
    size_t used = 0;

    if (len < OFM13_LEN_MIN) {
        return CVSW_OF_BAD_LEN;
    }
    fault = parse_head13(mod, msg);
    if (fault == CVSW_OF_OK) {
        fault = cvsw_of_oxm_parse(&mod->match, msg + OFM13_MATCH,
                                  len - OFM13_MATCH, &used);
    }
    if (fault == CVSW_OF_OK) {
        fault = cvsw_of_instructions_parse(mod, msg + OFM13_MATCH + used,
                                           len - OFM13_MATCH - used);
    }
    return fault;
}

CvswOfFault cvsw_of_flow_mod_parse(CvswFlowMod *mod, const void *msg,
                                   size_t len)
{
    const uint8_t *head = msg;
    CvswOfFault fault;
    size_t size;

    memset(mod, 0, sizeof(*mod));
    if (len < OFP_HEADER_LEN) {
        return CVSW_OF_BAD_LEN;
    }
    if (head[OFP_HEADER_VERSION] != OFP10_VERSION &&
        head[OFP_HEADER_VERSION] != OFP13_VERSION) {
        return CVSW_OF_BAD_VERSION;
    }
    if (head[OFP_HEADER_TYPE] != OFPT_FLOW_MOD) {
        return CVSW_OF_BAD_TYPE;
    }
    size = get_be16(head + OFP_HEADER_LENGTH);
    if (size > len) {
        return CVSW_OF_BAD_LEN;
    }
    fault = head[OFP_HEADER_VERSION] == OFP10_VERSION ?
            parse10(mod, head, size) : parse13(mod, head, size);
    reset_unused(mod);
    return fault;
}
