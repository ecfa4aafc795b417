/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instructions: apply actions, or write actions into the action set */
#include "hw/net/cvsw/openflow/action-set.h"
#include "hw/net/cvsw/openflow/actions13.h"
#include "hw/net/cvsw/openflow/instructions.h"
#include "hw/net/cvsw/openflow/known.h"
#include "hw/net/cvsw/openflow/octets.h"
#include "hw/net/cvsw/openflow/wire.h"

typedef struct Instructions {
    unsigned seen;              /* bits of the instruction types so far */
    CvswOfSteps apply, write;
} Instructions;

static CvswOfFault parse_actions(CvswOfSteps *steps, const CvswOfItem *item)
{
    return cvsw_of_actions13_parse(steps,
                                   item->octets + OFP13_INSTRUCTION_HEAD_LEN,
                                   item->len - OFP13_INSTRUCTION_HEAD_LEN);
}

static CvswOfFault parse_one(Instructions *all, const CvswOfItem *item)
{
    unsigned bit = item->type < 32 ? 1u << item->type : 0;

    if (all->seen & bit) {
        return CVSW_OF_INST_UNSUP;
    }
    all->seen |= bit;
    switch (item->type) {
    case OFPIT_APPLY_ACTIONS:
        return parse_actions(&all->apply, item);
    case OFPIT_WRITE_ACTIONS:
        return parse_actions(&all->write, item);
    case OFPIT_CLEAR_ACTIONS:
        return item->len == OFP13_INSTRUCTION_HEAD_LEN ?
               CVSW_OF_OK : CVSW_OF_INST_BAD_LEN;
    case OFPIT_GOTO_TABLE:
        return CVSW_OF_INST_BAD_TABLE_ID;
    case OFPIT_WRITE_METADATA:
    case OFPIT_METER:
        return CVSW_OF_INST_UNSUP;
    case OFPIT_EXPERIMENTER:
        return CVSW_OF_INST_BAD_EXPERIMENTER;
    default:
        return CVSW_OF_INST_UNKNOWN;
    }
}

static CvswOfFault parse_all(Instructions *all, const uint8_t *buf, size_t len)
{
    size_t pos = 0;

    while (pos < len) {
        CvswOfFault fault = CVSW_OF_INST_BAD_LEN;
        CvswOfItem item;

        if (cvsw_of_item(&item, buf + pos, len - pos)) {
            fault = parse_one(all, &item);
        }
        if (fault != CVSW_OF_OK) {
            return fault;
        }
        pos += item.len;
    }
    return CVSW_OF_OK;
}

/* Copies the actions if every matching frame has the fields that they set. */
static CvswOfFault take(CvswFlowMod *mod, const CvswOfSteps *steps)
{
    CvswOfKnown known;

    cvsw_of_known_init(&known, &mod->match);
    for (unsigned i = 0; i < steps->len; i++) {
        const CvswOfStep *step = &steps->step[i];

        if (!step->is_free && !cvsw_of_known_allows(&known, &step->action)) {
            return CVSW_OF_ACT_INCONSISTENT;
        }
        cvsw_of_known_after(&known, &step->action);
        mod->actions[i] = step->action;
    }
    mod->actions_len = steps->len;
    return CVSW_OF_OK;
}

CvswOfFault cvsw_of_instructions_parse(CvswFlowMod *mod, const uint8_t *buf,
                                       size_t len)
{
    Instructions all = { .seen = 0 };
    CvswOfFault fault = parse_all(&all, buf, len);

    if (fault != CVSW_OF_OK) {
        return fault;
    }
    if (!cvsw_of_action_set_add(&all.apply, &all.write)) {
        return CVSW_OF_ACT_TOO_MANY;
    }
    return take(mod, &all.apply);
}

void cvsw_of_instructions_build(GByteArray *out, const CvswEntry *entry)
{
    size_t from = out->len;

    if (entry->actions_len) {
        cvsw_of_put16(out, OFPIT_APPLY_ACTIONS);
        cvsw_of_put16(out, 0);
        cvsw_of_put32(out, 0);
        cvsw_of_actions13_build(out, &entry->match, entry->actions,
                                entry->actions_len);
        cvsw_of_put_at(out, from + 2, out->len - from);
    }
}
