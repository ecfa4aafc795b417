/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A list of actions as it is read, and the walk along what it is read from */
#ifndef CVSW_OPENFLOW_STEPS_H
#define CVSW_OPENFLOW_STEPS_H

#include <string.h>

#include "hw/net/cvsw/flow/action.h"
#include "hw/net/cvsw/openflow/fault.h"
#include "net/packet/octets.h"

/* An action, and whether it asks nothing of the match, as 1.0's do not. */
typedef struct CvswOfStep {
    CvswAction action;
    bool is_free;
} CvswOfStep;

typedef struct CvswOfSteps {
    unsigned len;
    CvswOfStep step[CVSW_ACTIONS_MAX];
} CvswOfSteps;

/** cvsw_of_steps_add: one more, of zeros; NULL: there are too many */
static inline CvswOfStep *cvsw_of_steps_add(CvswOfSteps *steps)
{
    CvswOfStep *step;

    if (steps->len == CVSW_ACTIONS_MAX) {
        return NULL;
    }
    step = &steps->step[steps->len++];
    memset(step, 0, sizeof(*step));
    return step;
}

/* An action or an instruction: type, length, and what it likes. */
#define CVSW_OF_ITEM_LEN_MIN    8u

typedef struct CvswOfItem {
    uint16_t type, len;
    const uint8_t *octets;      /* @len, type and length included */
} CvswOfItem;

/**
 * cvsw_of_item: the item at the beginning of @len octets
 *
 * Returns: false if its length is none that OpenFlow allows, or too much
 */
static inline bool cvsw_of_item(CvswOfItem *item, const uint8_t *buf,
                                size_t len)
{
    if (len < CVSW_OF_ITEM_LEN_MIN) {
        return false;
    }
    item->type = packet_get16(buf);
    item->len = packet_get16(buf + 2);
    item->octets = buf;
    return item->len >= CVSW_OF_ITEM_LEN_MIN && item->len % 8 == 0 &&
           item->len <= len;
}

#endif /* CVSW_OPENFLOW_STEPS_H */
