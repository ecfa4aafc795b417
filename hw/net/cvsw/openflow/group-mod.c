/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses GROUP_MODs */
#include <string.h>

#include "hw/net/cvsw/openflow/action-set.h"
#include "hw/net/cvsw/openflow/actions13.h"
#include "hw/net/cvsw/openflow/group-mod.h"
#include "hw/net/cvsw/openflow/wire.h"

/* --- a bucket ------------------------------------------------------------- */

/*
 * A decapsulated frame needs another look-up, which a bucket's copy never gets.
 */
static bool opens_tunnel(const CvswOfSteps *steps)
{
    for (unsigned i = 0; i < steps->len; i++) {
        CvswActionType type = steps->step[i].action.type;

        if (type == CVSW_ACTION_DECRYPT || type == CVSW_ACTION_TUNNEL_DECAP) {
            return true;
        }
    }
    return false;
}

static CvswOfFault parse_actions(CvswGroupBucket *bucket, const uint8_t *buf,
                                 size_t len)
{
    CvswOfSteps set = { .len = 0 }, steps = { .len = 0 };
    CvswOfFault fault = cvsw_of_actions13_parse(&set, buf, len);

    if (fault != CVSW_OF_OK) {
        return fault;
    }
    if (opens_tunnel(&set)) {
        return CVSW_OF_ACT_BAD_TYPE;
    }
    /* Cannot fail: there are not more actions than before. */
    cvsw_of_action_set_add(&steps, &set);
    bucket->actions_len = steps.len;
    bucket->actions = g_new0(CvswAction, steps.len);
    for (unsigned i = 0; i < steps.len; i++) {
        bucket->actions[i] = steps.step[i].action;
    }
    return CVSW_OF_OK;
}

static CvswOfFault parse_bucket(CvswGroupBucket *bucket, const uint8_t *buf,
                                size_t len)
{
    if (get_be16(buf + OBU13_WEIGHT) != 0) {
        return CVSW_OF_GROUP_INVALID;
    }
    if (get_be32(buf + OBU13_WATCH_PORT) != OFPP13_ANY ||
        get_be32(buf + OBU13_WATCH_GROUP) != OFPG_ANY) {
        return CVSW_OF_GROUP_WATCH;
    }
    return parse_actions(bucket, buf + OBU13_ACTIONS, len - OBU13_ACTIONS);
}

/* Returns: 0 if there is no complete bucket */
static size_t bucket_len(const uint8_t *buf, size_t left)
{
    size_t len = left >= OBU13_ACTIONS ? get_be16(buf + OBU13_LEN) : 0;

    return len >= OBU13_ACTIONS && len % 8 == 0 && len <= left ? len : 0;
}

static CvswOfFault parse_buckets(CvswGroupMod *mod, const uint8_t *buf,
                                 size_t left)
{
    GArray *buckets = g_array_new(false, true, sizeof(CvswGroupBucket));
    CvswOfFault fault = CVSW_OF_OK;
    size_t len;

    for (; left && fault == CVSW_OF_OK; buf += len, left -= len) {
        CvswGroupBucket bucket = { 0 };

        len = bucket_len(buf, left);
        if (!len) {
            fault = CVSW_OF_GROUP_BAD_BUCKET;
            break;
        }
        if (buckets->len == CVSW_BUCKETS_MAX) {
            fault = CVSW_OF_GROUP_OUT_OF_BUCKETS;
            break;
        }
        fault = parse_bucket(&bucket, buf, len);
        g_array_append_val(buckets, bucket);
    }
    mod->buckets_len = buckets->len;
    mod->buckets = (CvswGroupBucket *)g_array_free(buckets, false);
    return fault;
}

/* --- the message ---------------------------------------------------------- */

static CvswOfFault set_command(CvswGroupMod *mod, unsigned command)
{
    static const CvswGroupCommand commands[] = {
        [OFPGC_ADD] = CVSW_GROUP_ADD,
        [OFPGC_MODIFY] = CVSW_GROUP_MODIFY,
        [OFPGC_DELETE] = CVSW_GROUP_DELETE,
    };

    if (command >= sizeof(commands) / sizeof(*commands)) {
        return CVSW_OF_GROUP_BAD_COMMAND;
    }
    mod->command = commands[command];
    return CVSW_OF_OK;
}

static CvswOfFault set_type(CvswGroupMod *mod, uint8_t type)
{
    mod->type = type == OFPGT_ALL ? CVSW_GROUP_ALL : CVSW_GROUP_INDIRECT;
    return type == OFPGT_ALL || type == OFPGT_INDIRECT ?
           CVSW_OF_OK : CVSW_OF_GROUP_BAD_TYPE;
}

/* DELETE ignores buckets. */
static CvswOfFault parse(CvswGroupMod *mod, const uint8_t *msg, size_t len)
{
    CvswOfFault fault = set_command(mod, get_be16(msg + OGM13_COMMAND));

    if (fault != CVSW_OF_OK) {
        return fault;
    }
    mod->id = get_be32(msg + OGM13_GROUP_ID);
    if (mod->command == CVSW_GROUP_DELETE) {
        return mod->id <= CVSW_GROUP_LAST || mod->id == CVSW_ALL_GROUPS ?
               CVSW_OF_OK : CVSW_OF_GROUP_INVALID;
    }
    if (mod->id > CVSW_GROUP_LAST) {
        return CVSW_OF_GROUP_INVALID;
    }
    fault = set_type(mod, msg[OGM13_TYPE]);
    if (fault == CVSW_OF_OK) {
        fault = parse_buckets(mod, msg + OGM13_BUCKETS, len - OGM13_BUCKETS);
    }
    if (fault == CVSW_OF_OK && mod->type == CVSW_GROUP_INDIRECT &&
        mod->buckets_len != 1) {
        return CVSW_OF_GROUP_INVALID;
    }
    return fault;
}

CvswOfFault cvsw_of_group_mod_parse(CvswGroupMod *mod, const void *msg,
                                    size_t len)
{
    const uint8_t *head = msg;
    size_t size;

    memset(mod, 0, sizeof(*mod));
    if (len < OFP_HEADER_LEN) {
        return CVSW_OF_BAD_LEN;
    }
    if (head[OFP_HEADER_VERSION] != OFP13_VERSION) {
        return CVSW_OF_BAD_VERSION;
    }
    if (head[OFP_HEADER_TYPE] != OFPT_GROUP_MOD) {
        return CVSW_OF_BAD_TYPE;
    }
    size = get_be16(head + OFP_HEADER_LENGTH);
    if (size > len || size < OGM13_BUCKETS) {
        return CVSW_OF_BAD_LEN;
    }
    return parse(mod, head, size);
}
