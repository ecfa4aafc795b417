/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc audit: the lines that are not written yet
 *
 * Theory of operation
 * ===================
 *
 * The threads that run a guest's calls write lines into a ring, and the thread
 * that owns the outlet (a file, a pipe, a socket) takes them out.  The ring has
 * a lock of its own, which is held to copy a line.  Nothing is allocated, and a
 * writer never waits.
 *
 * Numbers.  The ring holds lines without their "seq": the reader numbers them
 * as they leave.  So the numbers have no gap, whatever was lost, and follow the
 * order of the ring.
 *
 * A full ring.  With VMRPC_AUDIT_DROP the line is counted, and a line "lost"
 * with the count comes where it is missing.  With VMRPC_AUDIT_WAIT nothing may
 * begin while there is no room for its lines, or while the outlet does not take
 * any: vmrpc_audit_admits() says so, and the caller's call has to wait.  What
 * has begun also ends, so there is room for one more line of each socket, which
 * no other line takes: a guest can be refused as often as it likes.
 *
 * Lines leave as a stream of bytes.  If the outlet is replaced in the middle of
 * a line, the new one gets the whole line (vmrpc_audit_rewind()).
 *
 * Thread safety: any thread may write, ask and look at the statistics at any
 * time; one thread at a time reads.
 */
#ifndef HW_VMRPC_AUDIT_LOG_H
#define HW_VMRPC_AUDIT_LOG_H

#include "hw/vmrpc/audit/line.h"

/* Bytes of lines that may wait, beside those of sockets that are closed */
#define VMRPC_AUDIT_RING        (1u << 20)

/*
 * What is left of them when nothing may begin any more: two lines of each of
 * 64 calls at once that were admitted before
 */
#define VMRPC_AUDIT_RESERVE     (2 * 64 * VMRPC_AUDIT_LINE_MAX)

/* If the ring is full */
typedef enum VmrpcAuditFull {
    VMRPC_AUDIT_DROP,           /* lines are lost, and counted */
    VMRPC_AUDIT_WAIT,           /* calls wait */
} VmrpcAuditFull;

/* Strings belong to the caller, and are copied. */
typedef struct VmrpcAuditConfig {
    const char *vm;             /* names of VM and device; NULL: none */
    const char *dev;
    VmrpcAuditFull full;
    uint32_t sockets;           /* that the guest may have at most */
    /*
     * The ring was empty, and now has a line.  In any thread, with locks of the
     * writer held.
     */
    void (*kick)(void *opaque);
    void *opaque;
} VmrpcAuditConfig;

typedef struct VmrpcAuditStats {
    uint64_t lines;             /* that were taken out, and are consumed */
    uint64_t lost;
    uint64_t pending;           /* that are in the ring or partly consumed */
    uint64_t waits;             /* how often vmrpc_audit_admits() said no */
    bool stuck;
} VmrpcAuditStats;

typedef struct VmrpcAudit VmrpcAudit;

VmrpcAudit *vmrpc_audit_new(const VmrpcAuditConfig *config);

/** vmrpc_audit_free: drops what is in the ring; NULL is allowed. */
void vmrpc_audit_free(VmrpcAudit *audit);

/**
 * vmrpc_audit_write: add a line
 *
 * Returns: false if there is no room, and the line is counted as lost.
 */
bool vmrpc_audit_write(VmrpcAudit *audit, const VmrpcAuditEntry *entry);

/**
 * vmrpc_audit_admits: may the guest begin something?
 *
 * After a "no", vmrpc_audit_consume() or vmrpc_audit_set_stuck() tells when to
 * ask again.
 */
bool vmrpc_audit_admits(VmrpcAudit *audit);

/* --- for the reader ------------------------------------------------------ */

/**
 * vmrpc_audit_peek: what is to be written next
 * @now_us: the time of a line "lost" behind all others
 *
 * Returns: its length, and *@text, valid until vmrpc_audit_consume(); 0: nothing
 */
size_t vmrpc_audit_peek(VmrpcAudit *audit, int64_t now_us, const char **text);

/**
 * vmrpc_audit_consume: the first @len bytes of vmrpc_audit_peek() are written
 *
 * Returns: true if calls that wait may go on.
 */
bool vmrpc_audit_consume(VmrpcAudit *audit, size_t len);

/** vmrpc_audit_rewind: the next reader is another one; begin a line */
void vmrpc_audit_rewind(VmrpcAudit *audit);

/**
 * vmrpc_audit_set_stuck: does the outlet take nothing, by an error?
 *
 * Returns: true if calls that wait may go on.
 */
bool vmrpc_audit_set_stuck(VmrpcAudit *audit, bool stuck);

/** vmrpc_audit_next_seq: the number of the next line behind all that wait */
uint64_t vmrpc_audit_next_seq(VmrpcAudit *audit);

/**
 * vmrpc_audit_follow_seq: go on with @seq, after a migration
 *
 * A number that is lower than the next one changes nothing, as after a return
 * to a snapshot.
 */
void vmrpc_audit_follow_seq(VmrpcAudit *audit, uint64_t seq);

void vmrpc_audit_stats(VmrpcAudit *audit, VmrpcAuditStats *stats);

#endif /* HW_VMRPC_AUDIT_LOG_H */
