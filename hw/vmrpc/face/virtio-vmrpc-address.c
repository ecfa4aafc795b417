/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-vmrpc: is the VM's address one of this host's?
 *
 * The VM's sockets are bound to its address.  A network manager that restarts,
 * a flush, an interface that is set down or made again can take it from the
 * host at any time: then nobody reaches the guest, and the guest nobody, with
 * no error that says why.  So the main loop hears the host's routing, looks
 * again after each change, and tells: in the log, by an event, and in
 * query-vmrpc.  It does not put the address back; vmmnet-hostd or the operator
 * does.
 *
 * The address of a VM that arrives by migration comes with the VM or shortly
 * after, and leaves the source when the VM has stopped there.  So nothing is
 * told of a VM that does not run, nor of one that has just begun to.
 */
#include "qemu/osdep.h"

#include <arpa/inet.h>

#include "hw/vmrpc/face/virtio-vmrpc-address.h"
#include "hw/vmrpc/reach/route.h"
#include "qapi/error.h"
#include "qapi/qapi-events-vmrpc.h"
#include "qemu/cutils.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"

/* A VM that has begun to run waits so long for its address in silence. */
#define ARRIVE_MS               1000

typedef struct Report {
    const char *id;             /* NULL: none */
    char *path;
    char address[INET6_ADDRSTRLEN];
} Report;

static Report make_report(VirtIOVmrpc *s)
{
    Report r = { .id = virtio_vmrpc_id(s),
                 .path = object_get_canonical_path(OBJECT(s)) };

    if (s->translate) {
        pstrcpy(r.address, sizeof(r.address), s->address6);
    } else {
        inet_ntop(AF_INET, &s->identity.guest4, r.address, sizeof(r.address));
    }
    return r;
}

/* Tells of an address that was here, or should be here by now. */
static void report_lost(const Report *r)
{
    warn_report("virtio-vmrpc '%s': the VM's address %s is none of this "
                "host's: the VM's sockets reach nobody until it is added to "
                "the interface that leads to the network",
                r->id ?: r->path, r->address);
    qapi_event_send_vmrpc_address_lost(r->id, r->path, r->address);
}

static void report_back(const Report *r)
{
    info_report("virtio-vmrpc '%s': the VM's address %s is on this host now",
                r->id ?: r->path, r->address);
    qapi_event_send_vmrpc_address_back(r->id, r->path, r->address);
}

static void set_state(VirtIOVmrpc *s, VmrpcAddressState state)
{
    VmrpcAddressState old = s->address_state;
    Report r;

    if (state == old) {
        return;
    }
    s->address_state = state;
    r = make_report(s);
    if (state == VMRPC_ADDRESS_STATE_LOST) {
        report_lost(&r);
    } else if (old == VMRPC_ADDRESS_STATE_LOST) {
        report_back(&r);
    }
    g_free(r.path);
}

/* @late: if the VM runs, the address has to be here by now */
static void look(VirtIOVmrpc *s, bool late)
{
    int error = vmrpc_server_own_address(s->server);
    bool was_here = s->address_state == VMRPC_ADDRESS_STATE_HERE;

    if (!error) {
        set_state(s, VMRPC_ADDRESS_STATE_HERE);
    } else if (error != EADDRNOTAVAIL ||
               s->address_state == VMRPC_ADDRESS_STATE_LOST) {
        return;                 /* nothing new, or no descriptor to look */
    } else if (runstate_is_running() && (was_here || late)) {
        set_state(s, VMRPC_ADDRESS_STATE_LOST);
    } else {
        set_state(s, VMRPC_ADDRESS_STATE_MISSING);
    }
}

static void routing_changed(void *opaque)
{
    look(opaque, false);
}

static void read_routing(void *opaque)
{
    VirtIOVmrpc *s = opaque;

    vmrpc_route_process(s->address_route);
}

static void arrive_timeout(void *opaque)
{
    look(opaque, true);
}

static void vm_state_changed(void *opaque, bool running, RunState state)
{
    VirtIOVmrpc *s = opaque;

    timer_del(s->address_timer);
    look(s, false);
    if (running && s->address_state == VMRPC_ADDRESS_STATE_MISSING) {
        timer_mod(s->address_timer,
                  qemu_clock_get_ms(QEMU_CLOCK_REALTIME) + ARRIVE_MS);
    }
}

bool virtio_vmrpc_address_realize(VirtIOVmrpc *s, Error **errp)
{
    g_autoptr(GError) err = NULL;

    if (s->translate && !s->address6) {
        return true;
    }
    s->address_route = vmrpc_route_new(&err);
    if (!s->address_route) {
        error_setg(errp, "%s", err->message);
        return false;
    }
    s->address_state = VMRPC_ADDRESS_STATE_MISSING;
    look(s, false);
    s->address_timer = timer_new_ms(QEMU_CLOCK_REALTIME, arrive_timeout, s);
    s->address_vmstate = qemu_add_vm_change_state_handler(vm_state_changed, s);
    vmrpc_route_watch(s->address_route, routing_changed, s);
    qemu_set_fd_handler(vmrpc_route_fd(s->address_route), read_routing, NULL,
                        s);
    return true;
}

void virtio_vmrpc_address_unrealize(VirtIOVmrpc *s)
{
    if (!s->address_route) {
        return;
    }
    qemu_set_fd_handler(vmrpc_route_fd(s->address_route), NULL, NULL, NULL);
    qemu_del_vm_change_state_handler(s->address_vmstate);
    g_clear_pointer(&s->address_timer, timer_free);
    g_clear_pointer(&s->address_route, vmrpc_route_free);
}
