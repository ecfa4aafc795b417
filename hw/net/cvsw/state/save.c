/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Saves the state of a switch */
#include <openssl/crypto.h>
#include <string.h>

#include "base/octets.h"
#include "hw/net/cvsw/openflow/reply.h"
#include "hw/net/cvsw/openflow/wire.h"
#include "hw/net/cvsw/state/record.h"
#include "hw/net/cvsw/state/state.h"

G_STATIC_ASSERT(SA_KEY == SA_SEEN + 8 * ESP_REPLAY_WORDS);

typedef struct Writer {
    void (*put)(void *opaque, const void *record, size_t len);
    void *opaque;
    uint64_t now_ms;
    GByteArray *message;
} Writer;

static void put_nic(Writer *w, const CvswState *s, bool with_sas)
{
    uint8_t record[NIC_GROUPS_LEN] = { RECORD_NIC };
    unsigned groups = cvsw_groups_stats(cvsw_table_groups(s->table)).groups;

    put_be16(record + NIC_VERSION, groups ? CVSW_STATE_GROUPS
                                          : CVSW_STATE_VERSION);
    memcpy(record + NIC_MAC, s->mac, sizeof(s->mac));
    record[NIC_DROP_MISSES] = s->drop_misses;
    put_be16(record + NIC_MTU, s->mtu);
    put_be32(record + NIC_FLOWS, cvsw_table_stats(s->table).entries);
    put_be32(record + NIC_DENIED, s->denied);
    put_be32(record + NIC_SAS, with_sas ? cvsw_sas_count(s->sas) : 0);
    put_be32(record + NIC_GROUPS, groups);
    w->put(w->opaque, record, groups ? NIC_GROUPS_LEN : NIC_LEN);
}

static void put_group(const CvswGroup *group, void *data)
{
    Writer *w = data;
    uint8_t record[CVSW_STATE_RECORD_MAX] = { RECORD_GROUP };
    uint8_t *p = record + GROUP_MOD;

    put_be64(record + GROUP_AGE, w->now_ms - group->made_ms);
    put_be64(record + GROUP_PACKETS, group->packets);
    put_be64(record + GROUP_OCTETS, group->octets);
    g_byte_array_set_size(w->message, 0);
    cvsw_of_group_mod_build(w->message, 0, group);
    g_assert(GROUP_MOD + w->message->len + group->buckets_len * BUCKET_LEN <=
             sizeof(record));
    memcpy(p, w->message->data, w->message->len);
    p += w->message->len;
    for (unsigned i = 0; i < group->buckets_len; i++, p += BUCKET_LEN) {
        put_be64(p, group->buckets[i].packets);
        put_be64(p + 8, group->buckets[i].octets);
    }
    w->put(w->opaque, record, p - record);
}

static void put_flow(const CvswEntry *entry, void *data)
{
    Writer *w = data;
    uint8_t record[CVSW_STATE_RECORD_MAX] = { RECORD_FLOW };

    record[FLOW_FLAGS] |= entry->flags & CVSW_FLOW_SEND_REMOVED ?
                          FLOW_FLAG_REMOVED : 0;
    record[FLOW_FLAGS] |= entry->flags & CVSW_FLOW_OPENFLOW10 ?
                          FLOW_FLAG_OPENFLOW10 : 0;
    put_be64(record + FLOW_AGE, w->now_ms - entry->made_ms);
    put_be64(record + FLOW_IDLE, w->now_ms - entry->used_ms);
    put_be64(record + FLOW_PACKETS, entry->packets);
    put_be64(record + FLOW_OCTETS, entry->octets);
    g_byte_array_set_size(w->message, 0);
    cvsw_of_flow_mod_build(w->message, OFP13_VERSION, 0, entry);
    g_assert(FLOW_MOD + w->message->len <= sizeof(record));
    memcpy(record + FLOW_MOD, w->message->data, w->message->len);
    w->put(w->opaque, record, FLOW_MOD + w->message->len);
}

static void put_sa(uint32_t number, const EspSaConfig *config, EspSa *sa,
                   void *data)
{
    Writer *w = data;
    uint8_t record[SA_LEN_MAX] = { RECORD_SA };
    EspSaState state;

    /* 0: keeps no sequence number here, so nothing can be sealed any more. */
    esp_sa_hand_over(sa, 0, &state);
    put_be32(record + SA_NUMBER, number);
    put_be32(record + SA_SPI, config->spi);
    record[SA_DIRECTION] = config->direction == ESP_OUTBOUND ? 1 : 2;
    record[SA_ESN] = config->esn;
    put_be16(record + SA_WINDOW, config->window);
    g_strlcpy((char *)record + SA_ALGORITHM, config->algorithm->name,
              SA_ALGORITHM_LEN);
    put_be32(record + SA_EPOCH, config->epoch);
    put_be64(record + SA_NEXT, state.next);
    put_be64(record + SA_TOP, state.replay.top);
    for (unsigned i = 0; i < ESP_REPLAY_WORDS; i++) {
        put_be64(record + SA_SEEN + 8 * i, state.replay.seen[i]);
    }
    memcpy(record + SA_KEY, config->key, config->key_len);
    w->put(w->opaque, record, SA_KEY + config->key_len);
    OPENSSL_cleanse(record, sizeof(record));
}

void cvsw_state_save(const CvswState *state, bool with_sas, uint64_t now_ms,
                     void (*put)(void *opaque, const void *record, size_t len),
                     void *opaque)
{
    g_autoptr(GByteArray) message = g_byte_array_new();
    Writer w = { put, opaque, now_ms, message };

    put_nic(&w, state, with_sas);
    cvsw_groups_foreach(cvsw_table_groups(state->table), put_group, &w);
    cvsw_table_foreach(state->table, NULL, put_flow, &w);
    if (with_sas) {
        cvsw_sas_foreach(state->sas, put_sa, &w);
    }
}

static void take_back(uint32_t number, const EspSaConfig *config, EspSa *sa,
                      void *data)
{
    esp_sa_take_back(sa, CVSW_STATE_USED_MAX);
}

void cvsw_state_take_back(CvswSas *sas)
{
    cvsw_sas_foreach(sas, take_back, NULL);
}
