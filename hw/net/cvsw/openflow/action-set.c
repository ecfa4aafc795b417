/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The execution order of an action set */
#include "hw/net/cvsw/openflow/action-set.h"

/*
 * OpenFlow 1.3.5 section 5.10.  The order of experimenter actions is not
 * specified: decapsulation comes before all other actions, encapsulation after
 * all but the output.
 */
static unsigned rank_of(CvswActionType type)
{
    switch (type) {
    case CVSW_ACTION_DECRYPT:
        return 0;
    case CVSW_ACTION_TUNNEL_DECAP:
        return 1;
    case CVSW_ACTION_POP_VLAN:
        return 2;
    case CVSW_ACTION_PUSH_VLAN:
        return 3;
    case CVSW_ACTION_DEC_TTL:
        return 4;
    case CVSW_ACTION_TUNNEL_ENCAP:
        return 6;
    case CVSW_ACTION_ENCRYPT:
        return 7;
    case CVSW_ACTION_GROUP:
        return 8;
    case CVSW_ACTION_OUTPUT:
        return 9;
    default:
        return 5;               /* SET_FIELD and the like */
    }
}

#define RANKS           10u

/* Does @b, written after @a, replace @a in the set? */
static bool replaces(const CvswAction *b, const CvswAction *a)
{
    return a->type == b->type && (a->type != CVSW_ACTION_SET_FIELD ||
                                  a->set.field == b->set.field);
}

static bool has_group(const CvswOfSteps *set)
{
    for (unsigned i = 0; i < set->len; i++) {
        if (set->step[i].action.type == CVSW_ACTION_GROUP) {
            return true;
        }
    }
    return false;
}

/* Is action @i executed, given the other actions in the set? */
static bool is_effective(const CvswOfSteps *steps, unsigned i)
{
    if (steps->step[i].action.type == CVSW_ACTION_OUTPUT && has_group(steps)) {
        return false;
    }
    for (unsigned j = i + 1; j < steps->len; j++) {
        if (replaces(&steps->step[j].action, &steps->step[i].action)) {
            return false;
        }
    }
    return true;
}

bool cvsw_of_action_set_add(CvswOfSteps *to, const CvswOfSteps *set)
{
    for (unsigned rank = 0; rank < RANKS; rank++) {
        for (unsigned i = 0; i < set->len; i++) {
            CvswOfStep *step;

            if (rank_of(set->step[i].action.type) != rank ||
                !is_effective(set, i)) {
                continue;
            }
            step = cvsw_of_steps_add(to);
            if (!step) {
                return false;
            }
            *step = set->step[i];
        }
    }
    return true;
}
