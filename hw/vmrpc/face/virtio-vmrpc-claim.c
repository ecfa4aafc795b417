/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-vmrpc: address6 belongs to one VM of the host
 *
 * The VM holds the claim (claim.c) from realize on, whether it runs or not.  A
 * VM that arrives by migration may have its source on the same host, so it
 * claims the address when it begins to run.  The source gives the address up
 * before that: when it stops for the switch-over or, if it was stopped
 * already, when its state is saved.  If the migration fails before the VM runs
 * at the destination (net/departure/state.h), the source takes the address back.
 *
 * Management may make both sides of a migration run.  The VM without the claim
 * is not stopped: it reports the conflict in the log and by an event, and
 * tries again until it has the address.
 */
#include "qemu/osdep.h"

#include <arpa/inet.h>

#include "hw/vmrpc/face/virtio-vmrpc-claim.h"
#include "qapi/error.h"
#include "qapi/qapi-events-vmrpc.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "qemu/uuid.h"
#include "system/runstate.h"
#include "system/system.h"
#include "vmmnet/qemu-compat.h"

/* How often a VM without its address tries to take it. */
#define RETRY_MS        1000

/* Shown to another VM that wants the same address. */
static char *owner_text(VirtIOVmrpc *s)
{
    g_autoptr(GString) text = g_string_new(NULL);
    const char *name = qemu_get_vm_name();
    const char *id = virtio_vmrpc_id(s);

    if (name) {
        g_string_append_printf(text, "VM '%s', ", name);
    }
    if (qemu_uuid_set) {
        g_autofree char *uuid = qemu_uuid_unparse_strdup(&qemu_uuid);

        g_string_append_printf(text, "UUID %s, ", uuid);
    }
    if (id) {
        g_string_append_printf(text, "device '%s'", id);
    } else {
        g_string_append(text, "a device without id");
    }
    return g_strdup(text->str);
}

static void answer(void *opaque)
{
    VirtIOVmrpc *s = opaque;

    vmrpc_claim_answer(s->claim);
}

static bool take(VirtIOVmrpc *s, GError **errp)
{
    if (vmrpc_claim_fd(s->claim) >= 0) {
        return true;
    }
    if (!vmrpc_claim_take(s->claim, errp)) {
        return false;
    }
    qemu_set_fd_handler(vmrpc_claim_fd(s->claim), answer, NULL, s);
    s->claim_state = VMRPC_ADDRESS_CLAIM_HELD;
    return true;
}

static void give_up(VirtIOVmrpc *s)
{
    if (!s->claim) {
        return;
    }
    timer_del(s->claim_timer);
    if (vmrpc_claim_fd(s->claim) >= 0) {
        qemu_set_fd_handler(vmrpc_claim_fd(s->claim), NULL, NULL, NULL);
    }
    vmrpc_claim_give_up(s->claim);
    s->claim_state = VMRPC_ADDRESS_CLAIM_WAITING;
}

/* Reports that another VM has the address, or that the host cannot tell. */
static void report(VirtIOVmrpc *s, const GError *err)
{
    g_autofree char *path = NULL;

    if (g_error_matches(err, VMRPC_CLAIM_ERROR, VMRPC_CLAIM_ERROR_FAILED)) {
        if (s->claim_state != VMRPC_ADDRESS_CLAIM_UNKNOWN) {
            warn_report("virtio-vmrpc: %s", err->message);
        }
        s->claim_state = VMRPC_ADDRESS_CLAIM_UNKNOWN;
        return;
    }
    s->claim_state = VMRPC_ADDRESS_CLAIM_CONFLICT;
    error_report("virtio-vmrpc: %s", err->message);
    path = object_get_canonical_path(OBJECT(s));
    qapi_event_send_vmrpc_address_conflict(virtio_vmrpc_id(s), path,
                                           s->address6, err->message);
}

/* Reports a conflict once; a retry does not ask the owner for its name. */
static void take_or_report(VirtIOVmrpc *s)
{
    bool known = s->claim_state == VMRPC_ADDRESS_CLAIM_CONFLICT;
    g_autoptr(GError) err = NULL;

    if (take(s, known ? NULL : &err)) {
        return;
    }
    if (!known) {
        report(s, err);
    }
    if (s->claim_state == VMRPC_ADDRESS_CLAIM_CONFLICT) {
        timer_mod(s->claim_timer,
                  qemu_clock_get_ms(QEMU_CLOCK_REALTIME) + RETRY_MS);
    }
}

static void retry(void *opaque)
{
    take_or_report(opaque);
}

static void vm_state_changed(void *opaque, bool running, RunState state)
{
    VirtIOVmrpc *s = opaque;

    if (running) {
        take_or_report(s);
    } else if (state == RUN_STATE_FINISH_MIGRATE) {
        give_up(s);
    }
}

void virtio_vmrpc_claim_saved(VirtIOVmrpc *s)
{
    /* Not for a snapshot: the VM stays here. */
    if (runstate_check(RUN_STATE_FINISH_MIGRATE)) {
        give_up(s);
    }
}

static void departure_turn(void *opaque, DepartureTurn turn)
{
    /* Also if the VM stays stopped. */
    if (turn == DEPARTURE_TURN_STAYS) {
        take_or_report(opaque);
    }
}

bool virtio_vmrpc_claim_realize(VirtIOVmrpc *s, Error **errp)
{
    g_autofree char *owner = owner_text(s);
    g_autoptr(GError) err = NULL;
    struct in6_addr addr6;

    if (!s->address6) {
        return true;
    }
    inet_pton(AF_INET6, s->address6, &addr6);   /* it is valid */
    s->claim = vmrpc_claim_new(&addr6, owner, &err);
    if (!s->claim) {
        error_setg(errp, "%s", err->message);
        return false;
    }
    s->claim_state = VMRPC_ADDRESS_CLAIM_WAITING;
    s->claim_timer = timer_new_ms(QEMU_CLOCK_REALTIME, retry, s);
    if (!runstate_check(RUN_STATE_INMIGRATE) && !take(s, &err)) {
        if (g_error_matches(err, VMRPC_CLAIM_ERROR, VMRPC_CLAIM_ERROR_TAKEN)) {
            error_setg(errp, "%s", err->message);
            virtio_vmrpc_claim_unrealize(s);
            return false;
        }
        report(s, err);
    }
    s->claim_vmstate = qemu_add_vm_change_state_handler(vm_state_changed, s);
    departure_follow(&s->claim_departure, departure_turn, s);
    return true;
}

void virtio_vmrpc_claim_unrealize(VirtIOVmrpc *s)
{
    if (!s->claim) {
        return;
    }
    if (s->claim_vmstate) {
        departure_unfollow(&s->claim_departure);
        qemu_del_vm_change_state_handler(s->claim_vmstate);
        s->claim_vmstate = NULL;
    }
    give_up(s);
    g_clear_pointer(&s->claim_timer, timer_free);
    g_clear_pointer(&s->claim, vmrpc_claim_free);
}
