/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc audit: the lines that are not written yet
 *
 * A record in the ring is a Head and the text of a line behind "seq".  A record
 * may continue at the beginning of the ring.  When the reader has taken all, the
 * ring begins anew, so a log that is read in time touches little memory.
 */
#include "hw/vmrpc/audit/log.h"

#include <pthread.h>
#include <string.h>

#include <glib.h>

#include "hw/vmrpc/audit/json.h"

/* Bytes that the reader takes out of the ring at once */
#define STAGE_SIZE      (64u << 10)

/* Bytes of the names of VM and device, as JSON */
#define WHO_MAX         512

typedef struct Head {
    uint32_t len;               /* of the text */
    uint32_t lost;              /* lines that are missing before this one */
} Head;

struct VmrpcAudit {
    VmrpcAuditConfig config;    /* constant; its strings are not */
    char who[WHO_MAX];          /* constant */
    pthread_mutex_t lock;       /* guards all from here to "reader" */

    char *ring;
    size_t size;
    size_t first;               /* offset of the first record */
    size_t used;                /* bytes of all records */
    uint64_t records;
    uint32_t lost;              /* behind the last record */
    bool waits;                 /* vmrpc_audit_admits() said no */
    uint64_t next_seq;          /* of the first record */
    VmrpcAuditStats stats;

    /* reader: lines that have left the ring */
    char stage[STAGE_SIZE];
    size_t stage_len;
    size_t stage_done;
};

/* --- life ----------------------------------------------------------------- */

VmrpcAudit *vmrpc_audit_new(const VmrpcAuditConfig *config)
{
    VmrpcAudit *audit = g_new0(VmrpcAudit, 1);
    VmrpcJson who = { .text = audit->who, .size = sizeof(audit->who) - 1 };
    pthread_mutexattr_t attr;

    audit->config = *config;
    audit->size = VMRPC_AUDIT_RING;
    if (config->full == VMRPC_AUDIT_WAIT) {
        audit->size += (size_t)config->sockets * VMRPC_AUDIT_CLOSE_MAX;
    }
    audit->ring = g_malloc(audit->size);
    audit->next_seq = 1;
    vmrpc_json_add_string(&who, "vm", config->vm);
    vmrpc_json_add_string(&who, "dev", config->dev);
    audit->config.vm = NULL;
    audit->config.dev = NULL;
    /* Short critical sections: spin first. */
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(&audit->lock, &attr);
    pthread_mutexattr_destroy(&attr);
    return audit;
}

void vmrpc_audit_free(VmrpcAudit *audit)
{
    if (audit) {
        pthread_mutex_destroy(&audit->lock);
        g_free(audit->ring);
        g_free(audit);
    }
}

/* --- the ring ------------------------------------------------------------- */

static void copy_in(VmrpcAudit *audit, const void *data, size_t len)
{
    size_t at = (audit->first + audit->used) % audit->size;
    size_t part = MIN(len, audit->size - at);

    memcpy(audit->ring + at, data, part);
    memcpy(audit->ring, (const char *)data + part, len - part);
    audit->used += len;
}

static void copy_out(VmrpcAudit *audit, void *data, size_t len)
{
    size_t part = MIN(len, audit->size - audit->first);

    memcpy(data, audit->ring + audit->first, part);
    memcpy((char *)data + part, audit->ring, len - part);
    audit->first = (audit->first + len) % audit->size;
    audit->used -= len;
    if (!audit->used) {
        audit->first = 0;
    }
}

bool vmrpc_audit_write(VmrpcAudit *audit, const VmrpcAuditEntry *entry)
{
    char text[VMRPC_AUDIT_LINE_MAX - VMRPC_AUDIT_SEQ_MAX];
    Head head = {
        .len = vmrpc_audit_format(entry, audit->who, text, sizeof(text)),
    };
    bool was_empty, fits;
    size_t size;

    pthread_mutex_lock(&audit->lock);
    was_empty = !audit->used && !audit->lost;
    /* What is beyond the ring is for those that end. */
    size = entry->event == VMRPC_AUDIT_CLOSE ? audit->size : VMRPC_AUDIT_RING;
    fits = audit->used + sizeof(head) + head.len <= size;
    if (fits) {
        head.lost = audit->lost;
        audit->lost = 0;
        copy_in(audit, &head, sizeof(head));
        copy_in(audit, text, head.len);
        audit->records++;
    } else {
        audit->lost += audit->lost < UINT32_MAX;
        audit->stats.lost++;
    }
    pthread_mutex_unlock(&audit->lock);
    if (was_empty && audit->config.kick) {
        audit->config.kick(audit->config.opaque);
    }
    return fits;
}

static bool has_room(const VmrpcAudit *audit)
{
    return !audit->stats.stuck &&
           audit->used <= VMRPC_AUDIT_RING - VMRPC_AUDIT_RESERVE;
}

bool vmrpc_audit_admits(VmrpcAudit *audit)
{
    bool admits;

    if (audit->config.full == VMRPC_AUDIT_DROP) {
        return true;
    }
    pthread_mutex_lock(&audit->lock);
    admits = has_room(audit);
    if (!admits) {
        audit->waits = true;
        audit->stats.waits++;
    }
    pthread_mutex_unlock(&audit->lock);
    return admits;
}

/* --- the reader ------------------------------------------------------------ */

static VmrpcJson begin_line(VmrpcAudit *audit)
{
    VmrpcJson line = {
        .text = audit->stage + audit->stage_len, .size = VMRPC_AUDIT_SEQ_MAX,
    };

    vmrpc_json_raw(&line, "{\"v\":");
    vmrpc_json_number(&line, VMRPC_AUDIT_VERSION);
    vmrpc_json_add_number(&line, "seq", audit->next_seq++);
    vmrpc_json_raw(&line, ",");
    return line;
}

/* Nobody has noted when the first of them was lost: it says when that is told. */
static void stage_lost(VmrpcAudit *audit, uint32_t lost, int64_t now_us)
{
    const VmrpcAuditEntry entry = {
        .event = VMRPC_AUDIT_LOST, .time_us = now_us, .count = lost,
    };
    VmrpcJson line = begin_line(audit);

    audit->stage_len += line.len +
        vmrpc_audit_format(&entry, audit->who, line.text + line.len,
                           VMRPC_AUDIT_LINE_MAX - VMRPC_AUDIT_SEQ_MAX);
}

/* Moves the first record, and what is missing before it, to the stage. */
static void stage_record(VmrpcAudit *audit, int64_t now_us)
{
    VmrpcJson line;
    Head head;

    copy_out(audit, &head, sizeof(head));
    if (head.lost) {
        stage_lost(audit, head.lost, now_us);
    }
    line = begin_line(audit);
    copy_out(audit, line.text + line.len, head.len);
    audit->stage_len += line.len + head.len;
    audit->records--;
}

size_t vmrpc_audit_peek(VmrpcAudit *audit, int64_t now_us, const char **text)
{
    if (audit->stage_done == audit->stage_len) {
        pthread_mutex_lock(&audit->lock);
        audit->stage_done = 0;
        audit->stage_len = 0;
        while (audit->records && audit->stage_len <=
                                 STAGE_SIZE - 2 * VMRPC_AUDIT_LINE_MAX) {
            stage_record(audit, now_us);
        }
        if (!audit->records && audit->lost && audit->stage_len <=
                                 STAGE_SIZE - VMRPC_AUDIT_LINE_MAX) {
            stage_lost(audit, audit->lost, now_us);
            audit->lost = 0;
        }
        pthread_mutex_unlock(&audit->lock);
    }
    *text = audit->stage + audit->stage_done;
    return audit->stage_len - audit->stage_done;
}

static uint64_t count_lines(const char *text, size_t len)
{
    const char *end = text + len;
    uint64_t n = 0;

    while ((text = memchr(text, '\n', end - text))) {
        text++;
        n++;
    }
    return n;
}

/* With the lock: may calls that wait go on? */
static bool wake(VmrpcAudit *audit)
{
    bool wakes = audit->waits && has_room(audit);

    audit->waits &= !wakes;
    return wakes;
}

bool vmrpc_audit_consume(VmrpcAudit *audit, size_t len)
{
    uint64_t lines = count_lines(audit->stage + audit->stage_done, len);
    bool wakes;

    pthread_mutex_lock(&audit->lock);
    audit->stage_done += len;
    audit->stats.lines += lines;
    wakes = wake(audit);
    pthread_mutex_unlock(&audit->lock);
    return wakes;
}

void vmrpc_audit_rewind(VmrpcAudit *audit)
{
    pthread_mutex_lock(&audit->lock);
    while (audit->stage_done && audit->stage[audit->stage_done - 1] != '\n') {
        audit->stage_done--;
    }
    pthread_mutex_unlock(&audit->lock);
}

bool vmrpc_audit_set_stuck(VmrpcAudit *audit, bool stuck)
{
    bool wakes;

    pthread_mutex_lock(&audit->lock);
    audit->stats.stuck = stuck;
    wakes = wake(audit);
    pthread_mutex_unlock(&audit->lock);
    return wakes;
}

/* --- numbers --------------------------------------------------------------- */

/* Records that have something missing before them take two numbers. */
static uint64_t count_numbers(VmrpcAudit *audit)
{
    size_t at = audit->first;
    uint64_t n = !!audit->lost;

    for (uint64_t i = 0; i < audit->records; i++) {
        Head head;
        size_t part = MIN(sizeof(head), audit->size - at);

        memcpy(&head, audit->ring + at, part);
        memcpy((char *)&head + part, audit->ring, sizeof(head) - part);
        n += 1 + !!head.lost;
        at = (at + sizeof(head) + head.len) % audit->size;
    }
    return n;
}

uint64_t vmrpc_audit_next_seq(VmrpcAudit *audit)
{
    uint64_t seq;

    pthread_mutex_lock(&audit->lock);
    seq = audit->next_seq + count_numbers(audit);
    pthread_mutex_unlock(&audit->lock);
    return seq;
}

void vmrpc_audit_follow_seq(VmrpcAudit *audit, uint64_t seq)
{
    pthread_mutex_lock(&audit->lock);
    audit->next_seq = MAX(audit->next_seq, seq);
    pthread_mutex_unlock(&audit->lock);
}

void vmrpc_audit_stats(VmrpcAudit *audit, VmrpcAuditStats *stats)
{
    pthread_mutex_lock(&audit->lock);
    *stats = audit->stats;
    stats->pending = audit->records +
                     count_lines(audit->stage + audit->stage_done,
                                 audit->stage_len - audit->stage_done);
    pthread_mutex_unlock(&audit->lock);
}
