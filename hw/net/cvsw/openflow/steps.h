/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A list of actions during parsing, and iteration over its encoding */
#ifndef CVSW_OPENFLOW_STEPS_H
#define CVSW_OPENFLOW_STEPS_H

#include <string.h>

#include "base/octets.h"
#include "hw/net/cvsw/flow/action.h"
#include "hw/net/cvsw/openflow/fault.h"

/* An action; is it valid without prerequisites, as 1.0's actions are? */
typedef struct CvswOfStep {
    CvswAction action;
    bool is_free;
} CvswOfStep;

typedef struct CvswOfSteps {
    unsigned len;
    CvswOfStep step[CVSW_ACTIONS_MAX];
} CvswOfSteps;

/** cvsw_of_steps_add: append a zeroed action; NULL: too many */
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

/* An action or an instruction: type, length, and a body. */
#define CVSW_OF_ITEM_LEN_MIN    8u

typedef struct CvswOfItem {
    uint16_t type, len;
    const uint8_t *octets;      /* @len octets, including type and length */
} CvswOfItem;

/**
 * cvsw_of_item: the item at the start of @len octets
 *
 * Returns: false if its length is invalid or more than @len
 */
static inline bool cvsw_of_item(CvswOfItem *item, const uint8_t *buf,
                                size_t len)
{
    if (len < CVSW_OF_ITEM_LEN_MIN) {
        return false;
    }
    item->type = get_be16(buf);
    item->len = get_be16(buf + 2);
    item->octets = buf;
    return item->len >= CVSW_OF_ITEM_LEN_MIN && item->len % 8 == 0 &&
           item->len <= len;
}

#endif /* CVSW_OPENFLOW_STEPS_H */
