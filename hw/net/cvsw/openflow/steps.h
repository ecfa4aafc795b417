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

typedef CvswOfFault CvswOfParseFn(CvswOfStep *step, const CvswOfItem *item);

/** cvsw_of_steps_parse: append all actions of @len octets */
static inline CvswOfFault cvsw_of_steps_parse(CvswOfSteps *steps,
                                              const uint8_t *buf, size_t len,
                                              CvswOfParseFn *parse)
{
    size_t pos = 0;

    while (pos < len) {
        CvswOfFault fault = CVSW_OF_ACT_BAD_LEN;
        CvswOfStep *step;
        CvswOfItem item;

        if (cvsw_of_item(&item, buf + pos, len - pos)) {
            step = cvsw_of_steps_add(steps);
            fault = step ? parse(step, &item) : CVSW_OF_ACT_TOO_MANY;
        }
        if (fault != CVSW_OF_OK) {
            return fault;
        }
        pos += item.len;
    }
    return CVSW_OF_OK;
}

#endif /* CVSW_OPENFLOW_STEPS_H */
