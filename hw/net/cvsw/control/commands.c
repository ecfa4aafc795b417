/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Executes a controller's commands on a switch */
#include <glib.h>
#include <openssl/crypto.h>
#include <string.h>

#include "hw/net/cvsw/control/commands.h"
#include "base/octets.h"
#include "hw/net/cvsw/openflow/flow-mod.h"
#include "hw/net/cvsw/openflow/group-mod.h"
#include "hw/net/cvsw/openflow/reply.h"
#include "hw/net/cvsw/openflow/wire.h"

#define MTU_MIN         68u             /* RFC 791 */

/* A command and its answer. */
typedef struct Order {
    CvswCommanded *to;
    const CvswMessage *command;
    const CvswSecret *secrets;
    uint64_t now_ms;
    CvswAnswer *answer;
} Order;

/* --- answers -------------------------------------------------------------- */

static void put(CvswAnswer *answer, const void *octets, size_t len)
{
    size_t room = sizeof(answer->payload) - answer->len;

    len = MIN(len, room);
    if (len) {                  /* else @octets may be NULL */
        memcpy(answer->payload + answer->len, octets, len);
    }
    answer->len += len;
}

static void answer_done(Order *o, uint32_t done, uint32_t total)
{
    struct cvsw_ack ack;

    put_be32(&ack.done, done);
    put_be32(&ack.total, total);
    o->answer->type = CVSW_ACK;
    put(o->answer, &ack, sizeof(ack));
}

static void refuse_after(Order *o, enum cvsw_status status, uint32_t done)
{
    struct cvsw_error error = { 0 };

    put_be16(&error.status, status);
    put_be32(&error.done, done);
    o->answer->type = CVSW_ERROR;
    put(o->answer, &error, sizeof(error));
}

static void refuse(Order *o, enum cvsw_status status)
{
    refuse_after(o, status, 0);
}

/* Copies the payload if it has the length @len. */
static bool take(Order *o, void *payload, size_t len)
{
    if (o->command->len != len) {
        refuse(o, CVSW_STATUS_LENGTH);
        return false;
    }
    memcpy(payload, o->command->payload, len);
    return true;
}

/* --- flows and groups ----------------------------------------------------- */

static void refuse_message(Order *o, uint32_t done, CvswOfFault fault,
                           const void *msg, size_t len)
{
    g_autoptr(GByteArray) error = g_byte_array_new();

    cvsw_of_error_build(error, fault, msg, len);
    refuse_after(o, CVSW_STATUS_OPENFLOW, done);
    put(o->answer, error->data, error->len);
}

static bool is_of_type(const Order *o, CvswCommand command)
{
    bool deletes = command == CVSW_DELETE || command == CVSW_DELETE_STRICT;

    return deletes == (o->command->type == CVSW_DELETE_ENTRY);
}

static CvswOfFault change_group(Order *o, const void *msg, size_t len)
{
    g_auto(CvswGroupMod) mod = { 0 };
    CvswOfFault fault = cvsw_of_group_mod_parse(&mod, msg, len);
    bool deletes = mod.command == CVSW_GROUP_DELETE;

    if (fault != CVSW_OF_OK) {
        return fault;
    }
    if (deletes != (o->command->type == CVSW_DELETE_ENTRY)) {
        return CVSW_OF_GROUP_BAD_COMMAND;
    }
    return cvsw_of_group_fault(cvsw_table_group_mod(o->to->table, &mod,
                                                    o->now_ms));
}

static CvswOfFault change_flows(Order *o, const void *msg, size_t len)
{
    CvswFlowMod mod;
    CvswOfFault fault = cvsw_of_flow_mod_parse(&mod, msg, len);

    if (fault != CVSW_OF_OK) {
        return fault;
    }
    if (!is_of_type(o, mod.command)) {
        return CVSW_OF_BAD_COMMAND;
    }
    return cvsw_of_table_fault(cvsw_table_mod(o->to->table, &mod, o->now_ms));
}

/*
 * Applies the messages in order.  The first faulty message ends the command;
 * the changes of the messages before it stay.
 */
static void do_changes(Order *o)
{
    const uint8_t *p = o->command->payload;
    size_t left = o->command->len, len;
    uint32_t done = 0;

    for (; left; done++, p += len, left -= len) {
        CvswOfFault fault;

        len = left >= OFP_HEADER_LEN ? get_be16(p + OFP_HEADER_LENGTH) : 0;
        if (len < OFP_HEADER_LEN || len > left) {
            refuse_message(o, done, CVSW_OF_BAD_LEN, p, left);
            return;
        }
        fault = p[OFP_HEADER_TYPE] == OFPT_GROUP_MOD &&
                p[OFP_HEADER_VERSION] == OFP13_VERSION ?
                change_group(o, p, len) : change_flows(o, p, len);
        if (fault != CVSW_OF_OK) {
            refuse_message(o, done, fault, p, len);
            return;
        }
    }
    answer_done(o, done, cvsw_table_stats(o->to->table).entries);
}

/* A section of a table's contents: as many messages as fit into one answer. */
typedef struct Listing {
    GByteArray *messages;
    uint32_t skip, taken;
    uint8_t version;
    bool is_full;
} Listing;

/* Returns: true if the next message belongs to the section */
static bool is_due(Listing *l)
{
    if (l->skip) {
        l->skip--;
        return false;
    }
    return !l->is_full;
}

/*
 * A message was appended after @before octets; removes it if it does not fit.
 */
static void keep_if_fits(Listing *l, guint before)
{
    if (l->messages->len > CVSW_PAYLOAD_MAX - sizeof(struct cvsw_ack)) {
        g_byte_array_set_size(l->messages, before);
        l->is_full = true;
    } else {
        l->taken++;
    }
}

static void list_entry(const CvswEntry *entry, void *data)
{
    Listing *l = data;
    guint before = l->messages->len;

    if (is_due(l)) {
        cvsw_of_flow_mod_build(l->messages, l->version, 0, entry);
        keep_if_fits(l, before);
    }
}

static void list_group(const CvswGroup *group, void *data)
{
    Listing *l = data;
    guint before = l->messages->len;

    if (is_due(l)) {
        cvsw_of_group_mod_build(l->messages, 0, group);
        keep_if_fits(l, before);
    }
}

/* Returns: the number of messages in the table */
static unsigned list_all(Order *o, Listing *l)
{
    CvswGroups *groups = cvsw_table_groups(o->to->table);

    if (o->command->type == CVSW_LIST_GROUPS) {
        cvsw_groups_foreach(groups, list_group, l);
        return cvsw_groups_stats(groups).groups;
    }
    cvsw_table_foreach(o->to->table, NULL, list_entry, l);
    return cvsw_table_stats(o->to->table).entries;
}

static void do_list(Order *o)
{
    g_autoptr(GByteArray) messages = g_byte_array_new();
    Listing l = { .messages = messages };
    struct cvsw_list list;
    unsigned total;

    if (!take(o, &list, sizeof(list))) {
        return;
    }
    if (list.openflow != OFP13_VERSION &&
        (list.openflow != OFP10_VERSION ||
         o->command->type == CVSW_LIST_GROUPS)) {
        refuse(o, CVSW_STATUS_VALUE);
        return;
    }
    l.version = list.openflow;
    l.skip = get_be32(&list.from);
    total = list_all(o, &l);
    if (l.is_full && !l.taken) {
        refuse(o, CVSW_STATUS_UNABLE);  /* does not fit into any answer */
        return;
    }
    answer_done(o, l.taken, total);
    put(o->answer, messages->data, messages->len);
}

/* --- the NIC -------------------------------------------------------------- */

static void do_mtu(Order *o)
{
    struct cvsw_set_mtu set;
    uint16_t mtu;

    if (!take(o, &set, sizeof(set))) {
        return;
    }
    mtu = get_be16(&set.mtu);
    if (mtu < MTU_MIN) {
        refuse(o, CVSW_STATUS_VALUE);
    } else if (!o->to->set_mtu(o->to->opaque, mtu)) {
        refuse(o, CVSW_STATUS_UNABLE);
    } else {
        o->to->mtu = mtu;
        answer_done(o, 0, 0);
    }
}

static void do_offload(Order *o)
{
    struct cvsw_set_offload set;

    if (!take(o, &set, sizeof(set))) {
        return;
    }
    if (o->to->set_offload(o->to->opaque, get_be32(&set.on),
                           get_be32(&set.mask))) {
        answer_done(o, 0, 0);
    } else {
        refuse(o, CVSW_STATUS_UNABLE);
    }
}

/* --- keys ----------------------------------------------------------------- */

static enum cvsw_status set_sa(Order *o, const struct cvsw_set_sa *set,
                               const uint8_t *key, size_t key_len)
{
    char name[sizeof(set->algorithm) + 1] = { 0 };
    EspSaFault fault;
    EspSaConfig config = {
        .direction = set->direction == 1 ? ESP_OUTBOUND : ESP_INBOUND,
        .spi = get_be32(&set->spi),
        .esn = set->esn,
        .window = get_be16(&set->window),
        .epoch = o->to->epoch,
        .key = key,
        .key_len = key_len,
    };

    memcpy(name, set->algorithm, sizeof(set->algorithm));
    config.algorithm = esp_algorithm_by_name(name);
    if (!config.algorithm || get_be32(&set->sa) == 0 || set->esn > 1 ||
        set->direction < 1 || set->direction > 2) {
        return CVSW_STATUS_VALUE;
    }
    switch (cvsw_sas_set(o->to->sas, get_be32(&set->sa), &config,
                         &fault)) {
    case CVSW_SAS_OK:
        return 0;
    case CVSW_SAS_FULL:
        return CVSW_STATUS_FULL;
    default:
        return CVSW_STATUS_VALUE;
    }
}

static void do_set_sa(Order *o)
{
    const struct cvsw_set_sa *set = (const void *)o->command->payload;
    uint8_t key[CVSW_SA_KEY_MAX];
    enum cvsw_status status;
    size_t len, sealed_len;

    sealed_len = o->command->len >= sizeof(*set) ?
                 get_be16(&set->sealed_len) : 0;
    if (o->command->len != sizeof(*set) + sealed_len) {
        refuse(o, CVSW_STATUS_LENGTH);
        return;
    }
    len = cvsw_secret_open(key, set, sealed_len, o->secrets);
    status = len ? set_sa(o, set, key, len) : CVSW_STATUS_SECRET;
    OPENSSL_cleanse(key, sizeof(key));
    if (status) {
        refuse(o, status);
    } else {
        answer_done(o, 0, cvsw_sas_count(o->to->sas));
    }
}

static void do_delete_sa(Order *o)
{
    struct cvsw_delete_sa delete;

    if (take(o, &delete, sizeof(delete))) {
        cvsw_sas_delete(o->to->sas, get_be32(&delete.sa));
        answer_done(o, 0, cvsw_sas_count(o->to->sas));
    }
}

void cvsw_command(CvswCommanded *to, const CvswMessage *command,
                  const CvswSecret *secrets, uint64_t now_ms,
                  CvswAnswer *answer)
{
    Order order = { to, command, secrets, now_ms, answer };

    switch (command->type) {
    case CVSW_SET_ENTRY:
    case CVSW_DELETE_ENTRY:
        do_changes(&order);
        break;
    case CVSW_LIST_ENTRIES:
    case CVSW_LIST_GROUPS:
        do_list(&order);
        break;
    case CVSW_SET_MTU:
        do_mtu(&order);
        break;
    case CVSW_SET_OFFLOAD:
        do_offload(&order);
        break;
    case CVSW_SET_SA:
        do_set_sa(&order);
        break;
    case CVSW_DELETE_SA:
        do_delete_sa(&order);
        break;
    default:
        refuse(&order, CVSW_STATUS_UNKNOWN);
    }
}
