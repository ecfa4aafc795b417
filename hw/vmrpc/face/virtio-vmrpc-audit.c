/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-vmrpc: the audit log's way out, a character device
 *
 * The threads that run calls put lines into the ring (audit/log.h) and wake the
 * main loop, which owns character devices and writes.
 *
 * A reader that is slow lets the ring fill, and is waited for without a timer.
 * A file system that is full, and a connection that is closed, take nothing:
 * from then on the log is stuck, and with audit-full=wait nothing begins, even
 * with room in the ring.  The log of QEMU and an event tell that, and when all
 * lines are written again.
 *
 * A character device does not say how much of a write was done before an error.
 * So the line that may be broken is ended, and all lines of the write come
 * again: their numbers tell.
 *
 * The destination of a migration writes nothing before it has the number of its
 * first line.
 */
#include "qemu/osdep.h"

#include "hw/vmrpc/face/virtio-vmrpc-audit.h"
#include "qapi/error.h"
#include "qapi/qapi-events-vmrpc.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "system/system.h"
#include "hw/vmrpc/trace.h"

/* Writes in one turn of the main loop */
#define TURNS                   4

/* A log that is stuck is tried again after this time; a slow one is told of. */
#define RETRY_MS                1000

/* --- what is told --------------------------------------------------------- */

/* @why: the log takes nothing for this reason; NULL: it takes lines again */
static void set_blocked(VirtIOVmrpc *s, const char *why)
{
    g_autofree char *path = object_get_canonical_path(OBJECT(s));
    const char *id = virtio_vmrpc_id(s);
    VmrpcAuditStats stats;

    if (!why == !s->audit_blocked) {
        return;
    }
    s->audit_blocked = why;
    vmrpc_audit_stats(s->audit, &stats);
    trace_virtio_vmrpc_audit(s, s->audit_label, why ?: "", stats.pending, stats.lost);
    if (why) {
        warn_report("virtio-vmrpc '%s': audit=%s %s: %s", id ?: path, s->audit_label,
                    why, s->audit_waits ? "nothing that needs a line begins "
                    "until it takes lines again (audit-full=wait)"
                    : "lines that find no room are lost and counted "
                    "(audit-full=drop)");
        qapi_event_send_vmrpc_audit_blocked(id, path, s->audit_label, why,
                                            s->audit_waits, stats.pending);
    } else {
        info_report("virtio-vmrpc '%s': audit=%s takes lines again; %" PRIu64
                    " were lost", id ?: path, s->audit_label, stats.lost);
        qapi_event_send_vmrpc_audit_resumed(id, path, s->audit_label, stats.lost);
    }
}

/* --- writing -------------------------------------------------------------- */

static void go_on(VirtIOVmrpc *s, bool wakes)
{
    if (wakes && s->server) {
        vmrpc_server_audit_has_room(s->server);
    }
}

static void retry_later(VirtIOVmrpc *s)
{
    timer_mod(s->audit_timer,
              qemu_clock_get_ms(QEMU_CLOCK_REALTIME) + RETRY_MS);
}

static void be_stuck(VirtIOVmrpc *s, const char *why)
{
    vmrpc_audit_set_stuck(s->audit, true);
    set_blocked(s, why);
    retry_later(s);
}

static gboolean can_write(void *do_not_use, GIOCondition cond, void *opaque)
{
    VirtIOVmrpc *s = opaque;

    s->audit_watch = 0;
    qemu_bh_schedule(s->audit_bh);
    return G_SOURCE_REMOVE;
}

static void drop_watch(VirtIOVmrpc *s)
{
    if (s->audit_watch) {
        g_source_remove(s->audit_watch);
        s->audit_watch = 0;
    }
}

/* The reader has not read what it has. */
static void wait_for_reader(VirtIOVmrpc *s)
{
    s->audit_watch = qemu_chr_fe_add_watch(&s->audit_chr, G_IO_OUT | G_IO_HUP,
                                           can_write, s);
    retry_later(s);
}

/* Bytes to write at once: after an error, one line */
static size_t portion(VirtIOVmrpc *s, const char *text, size_t len)
{
    const char *end = s->audit_torn ? memchr(text, '\n', len) : NULL;

    return end ? end + 1 - text : len;
}

/* Returns what qemu_chr_fe_write() does. */
static int write_part(VirtIOVmrpc *s, const char *text, size_t len)
{
    int n = s->audit_torn ? qemu_chr_fe_write(&s->audit_chr,
                                              (const uint8_t *)"\n", 1) : 1;

    if (n > 0) {
        n = qemu_chr_fe_write(&s->audit_chr, (const uint8_t *)text,
                              portion(s, text, len));
    }
    return n;
}

/* Writes a part; returns false if there is none, or it cannot be written. */
static bool drain_some(VirtIOVmrpc *s)
{
    const char *text;
    size_t len;
    int n;

    if (runstate_check(RUN_STATE_INMIGRATE)) {
        return false;
    }
    if (!qemu_chr_fe_backend_open(&s->audit_chr)) {
        be_stuck(s, "is not connected");
        return false;
    }
    len = vmrpc_audit_peek(s->audit, g_get_real_time(), &text);
    if (!len) {
        /* A reader that is slow takes some now and then: that is no news. */
        set_blocked(s, NULL);
        return false;
    }
    n = write_part(s, text, len);
    if (n < 0 && errno == EAGAIN) {
        wait_for_reader(s);
        return false;
    }
    if (n <= 0) {
        vmrpc_audit_rewind(s->audit);
        s->audit_torn = true;
        be_stuck(s, "takes no lines, as if its disk were full");
        return false;
    }
    s->audit_torn = false;
    timer_del(s->audit_timer);
    go_on(s, vmrpc_audit_set_stuck(s->audit, false));
    go_on(s, vmrpc_audit_consume(s->audit, n));
    return true;
}

static void drain(void *opaque)
{
    VirtIOVmrpc *s = opaque;
    unsigned turns = 0;

    while (!s->audit_watch && turns < TURNS && drain_some(s)) {
        turns++;
    }
    if (turns == TURNS) {
        qemu_bh_schedule(s->audit_bh);
    }
}

/* Either it is time to try again, or a reader has not read for long. */
static void retry(void *opaque)
{
    VirtIOVmrpc *s = opaque;

    if (s->audit_watch) {
        set_blocked(s, "is not read");
    } else {
        drain(s);
    }
}

/* In any thread that uses the server. */
static void kick(void *opaque)
{
    VirtIOVmrpc *s = opaque;

    qemu_bh_schedule(s->audit_bh);
}

/* What can be written at once; the main loop may not run any more. */
static void flush(VirtIOVmrpc *s)
{
    while (!s->audit_watch && drain_some(s)) {
        continue;
    }
}

/* --- the character device --------------------------------------------------- */

/* Another reader gets whole lines. */
static void begin_anew(VirtIOVmrpc *s)
{
    drop_watch(s);
    vmrpc_audit_rewind(s->audit);
    s->audit_torn = false;
    go_on(s, vmrpc_audit_set_stuck(s->audit, false));
    qemu_bh_schedule(s->audit_bh);
}

static void chr_event(void *opaque, QEMUChrEvent event)
{
    VirtIOVmrpc *s = opaque;

    if (event == CHR_EVENT_OPENED) {
        begin_anew(s);
    } else if (event == CHR_EVENT_CLOSED) {
        /* The main loop tells, unless QEMU is ending. */
        drop_watch(s);
        vmrpc_audit_set_stuck(s->audit, true);
        qemu_bh_schedule(s->audit_bh);
    }
}

static int chr_changed(void *opaque);

static void set_handlers(VirtIOVmrpc *s)
{
    qemu_chr_fe_set_handlers(&s->audit_chr, NULL, NULL, chr_event, chr_changed,
                             s, NULL, true);
}

/* QMP's chardev-change */
static int chr_changed(void *opaque)
{
    VirtIOVmrpc *s = opaque;

    set_handlers(s);
    begin_anew(s);
    return 0;
}

/* --- life ------------------------------------------------------------------- */

static bool parse_full(VirtIOVmrpc *s, Error **errp)
{
    const char *value = s->audit_full ?: "drop";

    if (strcmp(value, "drop") && strcmp(value, "wait")) {
        error_setg(errp, "audit-full=%s is neither 'drop' nor 'wait'", value);
        return false;
    }
    s->audit_waits = !strcmp(value, "wait");
    return true;
}

/* Before a migration, and before QEMU ends. */
static void vm_state_changed(void *opaque, bool running, RunState state)
{
    VirtIOVmrpc *s = opaque;

    if (!running) {
        flush(s);
    } else {
        qemu_bh_schedule(s->audit_bh);
    }
}

bool virtio_vmrpc_audit_realize(VirtIOVmrpc *s, Error **errp)
{
    g_autofree char *path = object_get_canonical_path(OBJECT(s));
    VmrpcAuditConfig config = {
        .vm = qemu_get_vm_name(),
        .dev = virtio_vmrpc_id(s) ?: path,
        .sockets = s->max_sockets,
        .kick = kick,
        .opaque = s,
    };

    if (!qemu_chr_fe_backend_connected(&s->audit_chr)) {
        if (s->audit_full) {
            error_setg(errp, "audit-full=%s has no use without audit=, which "
                       "names a chardev", s->audit_full);
        }
        return !s->audit_full;
    }
    if (!parse_full(s, errp)) {
        return false;
    }
    /* It keeps its label when it is changed. */
    s->audit_label = g_strdup(qemu_chr_fe_get_driver(&s->audit_chr)->label);
    config.full = s->audit_waits ? VMRPC_AUDIT_WAIT : VMRPC_AUDIT_DROP;
    s->audit_bh = qemu_bh_new(drain, s);
    s->audit_timer = timer_new_ms(QEMU_CLOCK_REALTIME, retry, s);
    s->audit = vmrpc_audit_new(&config);
    return true;
}

void virtio_vmrpc_audit_start(VirtIOVmrpc *s)
{
    if (s->audit) {
        s->audit_vmstate = qemu_add_vm_change_state_handler(vm_state_changed,
                                                            s);
        set_handlers(s);
        /* One that is not open has no event to say so. */
        vmrpc_audit_set_stuck(s->audit,
                              !qemu_chr_fe_backend_open(&s->audit_chr));
        qemu_bh_schedule(s->audit_bh);
    }
}

void virtio_vmrpc_audit_unrealize(VirtIOVmrpc *s)
{
    if (!s->audit) {
        return;
    }
    if (s->audit_vmstate) {
        flush(s);
        qemu_del_vm_change_state_handler(s->audit_vmstate);
        s->audit_vmstate = NULL;
    }
    drop_watch(s);
    qemu_chr_fe_set_handlers(&s->audit_chr, NULL, NULL, NULL, NULL, NULL, NULL,
                             false);
    g_clear_pointer(&s->audit_timer, timer_free);
    g_clear_pointer(&s->audit_bh, qemu_bh_delete);
    g_clear_pointer(&s->audit, vmrpc_audit_free);
    g_clear_pointer(&s->audit_label, g_free);
}

VmrpcAuditInfo *virtio_vmrpc_audit_info(VirtIOVmrpc *s)
{
    VmrpcAuditInfo *info;
    VmrpcAuditStats stats;

    if (!s->audit) {
        return NULL;
    }
    vmrpc_audit_stats(s->audit, &stats);
    info = g_new0(VmrpcAuditInfo, 1);
    info->chardev = g_strdup(s->audit_label);
    info->full = s->audit_waits ? VMRPC_AUDIT_WHEN_FULL_WAIT
                                : VMRPC_AUDIT_WHEN_FULL_DROP;
    info->lines = stats.lines;
    info->lost = stats.lost;
    info->pending = stats.pending;
    info->waits = stats.waits;
    info->blocked = s->audit_blocked;
    return info;
}
