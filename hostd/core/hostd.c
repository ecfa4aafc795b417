/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Adds addresses of VMs to this host and removes them
 *
 * Theory of operation
 *
 * While a VM migrates, its address must not be on two hosts at once. The source
 * QEMU waits for our answer before the VM continues on the destination, so an
 * address must be removed before a "yield" is answered.
 *
 * The registry is saved before the host is changed, and at start the host is
 * made to agree with the registry. So if this process is killed between the two
 * steps, nothing is lost: the next process completes the change. In particular,
 * an address that was yielded does not come back. If a VM has never asked for
 * its addresses, none of them are removed: an administrator may have added
 * them.
 *
 * Others change the host too: a network manager removes addresses that it does
 * not know, and an interface that goes takes its addresses with it. An address
 * of a VM that is here, and that the host has not got, is "lost". It is added
 * again as soon as its interface is up. One that is lost again soon after may be
 * fought over with another program, which never ends, or be flushed, which ends
 * when nobody adds it: it is added by the next tick, so once a second at most.
 */
#include <arpa/inet.h>
#include <string.h>

#include "hostd/core/hostd.h"

#define PUT_BACK_S      2       /* in ticks: at least 1 s */
#define FOUGHT_OVER_S   10

static void log_line(const Hostd *h, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

static void log_line(const Hostd *h, const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    h->ops->log_line(h->opaque, text);
}

static bool refuse(GError **errp, const char *format, ...) G_GNUC_PRINTF(2, 3);

static bool refuse(GError **errp, const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(errp, HOSTD_ERROR, HOSTD_ERROR_REFUSED, "%s", text);
    return false;
}

void hostd_init(Hostd *h, const HostdOps *ops, void *opaque)
{
    *h = (Hostd) { hostd_registry_new(), ops, opaque };
}

void hostd_destroy(Hostd *h)
{
    hostd_registry_free(h->vms);
}

/* --- addresses ------------------------------------------------------------ */

typedef bool Change(Hostd *h, HostdAddress *address, GError **errp);

static void set_rest(HostdAddress *address, HostdRest rest)
{
    static const unsigned seconds[] = {
        [HOSTD_PUT_BACK] = PUT_BACK_S, [HOSTD_FOUGHT_OVER] = FOUGHT_OVER_S,
    };

    address->rest = rest;
    address->rest_s = seconds[rest];
}

static bool add(Hostd *h, HostdAddress *address, GError **errp)
{
    address->lost = !h->ops->add(h->opaque, address, errp);
    return !address->lost;
}

static bool add_and_announce(Hostd *h, HostdAddress *address, GError **errp)
{
    if (!add(h, address, errp)) {
        return false;
    }
    h->ops->announce(h->opaque, address);
    return true;
}

static bool drop(Hostd *h, HostdAddress *address, GError **errp)
{
    address->lost = false;
    set_rest(address, HOSTD_AT_REST);
    return h->ops->remove(h->opaque, address, errp);
}

/* Calls @change for each address; @errp combines the errors of all. */
static bool change_all(Hostd *h, const HostdVm *vm, Change *change,
                       GError **errp)
{
    g_autoptr(GString) failed = g_string_new(NULL);

    for (guint i = 0; i < vm->addresses->len; i++) {
        HostdAddress *a = &g_array_index(vm->addresses, HostdAddress, i);
        g_autoptr(GError) err = NULL;

        if (!change(h, a, &err)) {
            g_string_append_printf(failed, "%s%s", failed->len ? "; " : "",
                                   err->message);
        }
    }
    if (failed->len) {
        g_set_error(errp, HOSTD_ERROR, HOSTD_ERROR_HOST, "%s", failed->str);
    }
    return !failed->len;
}

static char *addresses_text(const HostdVm *vm)
{
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < vm->addresses->len; i++) {
        const HostdAddress *a = &g_array_index(vm->addresses, HostdAddress, i);
        char addr[INET6_ADDRSTRLEN];

        inet_ntop(AF_INET6, &a->addr, addr, sizeof(addr));
        g_string_append_printf(text, "%s%s on %s", i ? ", " : "", addr,
                               a->dev);
    }
    return g_string_free(text, FALSE);
}

/* Addresses are changed even if the registry cannot be saved. */
static void set_place(Hostd *h, HostdVm *vm, HostdPlace place)
{
    g_autoptr(GError) err = NULL;

    if (vm->place != place) {
        vm->place = place;
        if (!h->ops->keep(h->opaque, &err)) {
            log_line(h, "%s: %s", vm->uuid, err->message);
        }
    }
}

/* Logs the result of a request of @vm. Returns: !@err */
static bool log_end(const Hostd *h, const char *what, const HostdVm *vm,
                    GError *err, GError **errp)
{
    g_autofree char *text = addresses_text(vm);

    log_line(h, "%s %s: %s", what, vm->uuid, err ? err->message : text);
    if (err) {
        g_propagate_error(errp, err);
    }
    return !err;
}

bool hostd_take(Hostd *h, HostdVm *vm, GError **errp)
{
    g_autoptr(GError) no_process = NULL;
    GError *err = NULL;

    set_place(h, vm, HOSTD_HERE);
    /* Root may have asked before the VM has a process. */
    if (!h->ops->watch(h->opaque, vm, &no_process)) {
        log_line(h, "%s: it has no process yet: %s", vm->uuid,
                 no_process->message);
    }
    change_all(h, vm, add_and_announce, &err);
    return log_end(h, "take", vm, err, errp);
}

bool hostd_yield(Hostd *h, HostdVm *vm, GError **errp)
{
    GError *err = NULL;

    if (vm->place == HOSTD_AWAY) {
        return true;
    }
    set_place(h, vm, HOSTD_LEAVING);
    if (change_all(h, vm, drop, &err)) {
        h->ops->unwatch(h->opaque, vm);
        set_place(h, vm, HOSTD_AWAY);
    }
    return log_end(h, "yield", vm, err, errp);
}

void hostd_gone(Hostd *h, HostdVm *vm)
{
    log_line(h, "%s: its process has ended", vm->uuid);
    hostd_yield(h, vm, NULL);   /* logs errors itself */
}

/* --- VMs ------------------------------------------------------------------ */

static bool has_devices(const Hostd *h, const HostdVm *vm, GError **errp)
{
    for (guint i = 0; i < vm->addresses->len; i++) {
        HostdAddress *a = &g_array_index(vm->addresses, HostdAddress, i);
        char addr[INET6_ADDRSTRLEN];

        if (!h->ops->has_device(h->opaque, a->dev)) {
            inet_ntop(AF_INET6, &a->addr, addr, sizeof(addr));
            return refuse(errp, "address6 %s: this host has no interface '%s'",
                          addr, a->dev);
        }
    }
    return true;
}

static bool may_register(const Hostd *h, const HostdVm *vm, const HostdVm *old,
                         GError **errp)
{
    if (!vm->addresses->len) {
        return refuse(errp, "register %s: there is no line address6",
                      vm->uuid);
    }
    if (old && old->place != HOSTD_AWAY) {
        return refuse(errp, "register %s: this VM is here, with other "
                      "addresses or another pid file; 'forget' it first",
                      vm->uuid);
    }
    return has_devices(h, vm, errp) && hostd_registry_check(h->vms, vm, errp);
}

bool hostd_register(Hostd *h, HostdVm *vm, GError **errp)
{
    HostdVm *old = hostd_registry_find(h->vms, vm->uuid);
    g_autofree char *text = NULL;

    has_devices(h, vm, NULL);   /* the same with an alternative name is equal */
    text = addresses_text(vm);
    if (old && hostd_vm_equal(vm, old)) {
        hostd_vm_free(vm);
        return true;
    }
    if (!may_register(h, vm, old, errp)) {
        hostd_vm_free(vm);
        return false;
    }
    if (old) {
        hostd_registry_steal(h->vms, old);
    }
    hostd_registry_put(h->vms, vm);
    if (!h->ops->keep(h->opaque, errp)) {
        hostd_registry_steal(h->vms, vm);
        hostd_vm_free(vm);
        if (old) {
            hostd_registry_put(h->vms, old);
        }
        return false;
    }
    hostd_vm_free(old);
    log_line(h, "register %s: %s", vm->uuid, text);
    return true;
}

bool hostd_forget(Hostd *h, HostdVm *vm, GError **errp)
{
    if (!hostd_yield(h, vm, errp)) {
        return false;
    }
    hostd_registry_steal(h->vms, vm);
    if (!h->ops->keep(h->opaque, errp)) {
        hostd_registry_put(h->vms, vm);
        return false;
    }
    log_line(h, "forget %s", vm->uuid);
    hostd_vm_free(vm);
    return true;
}

/* Changes that nobody watched: the address has left, the MAC address. */
static bool settle_address(Hostd *h, HostdAddress *address, GError **errp)
{
    bool was_there = h->ops->has(h->opaque, address);
    char addr[INET6_ADDRSTRLEN];

    if (!add_and_announce(h, address, errp)) {
        return false;
    }
    if (!was_there) {
        inet_ntop(AF_INET6, &address->addr, addr, sizeof(addr));
        log_line(h, "%s was not on %s: it is there again", addr, address->dev);
    }
    return true;
}

static void apply_place(Hostd *h, HostdVm *vm)
{
    g_autoptr(GError) no_process = NULL, err = NULL;

    if (vm->place == HOSTD_LEAVING) {
        hostd_yield(h, vm, NULL);
    } else if (vm->place == HOSTD_HERE) {
        if (!h->ops->watch(h->opaque, vm, &no_process)) {
            log_line(h, "%s: %s", vm->uuid, no_process->message);
            hostd_yield(h, vm, NULL);
        } else if (!change_all(h, vm, settle_address, &err)) {
            log_line(h, "%s: %s", vm->uuid, err->message);
        }
    }
}

void hostd_settle(Hostd *h)
{
    g_autoptr(GList) list = hostd_registry_list(h->vms);

    for (GList *link = list; link; link = link->next) {
        apply_place(h, link->data);
    }
}

/* --- addresses that others remove ----------------------------------------- */

/* Adds a lost address if its interface is up; logs what happens. */
static void restore(Hostd *h, const HostdVm *vm, HostdAddress *a)
{
    g_autoptr(GError) err = NULL;
    char addr[INET6_ADDRSTRLEN];

    if (!h->ops->is_up(h->opaque, a->dev)) {
        return;
    }
    inet_ntop(AF_INET6, &a->addr, addr, sizeof(addr));
    if (add_and_announce(h, a, &err)) {
        if (a->rest != HOSTD_FOUGHT_OVER) {
            log_line(h, "%s: %s is on %s again", vm->uuid, addr, a->dev);
            set_rest(a, HOSTD_PUT_BACK);
        }
    } else if (!a->told) {
        log_line(h, "%s: %s", vm->uuid, err->message);
    }
    a->told = a->lost;
}

static void lose(Hostd *h, const HostdVm *vm, HostdAddress *a)
{
    char addr[INET6_ADDRSTRLEN];

    a->lost = true;
    inet_ntop(AF_INET6, &a->addr, addr, sizeof(addr));
    switch (a->rest) {
    case HOSTD_AT_REST:
        log_line(h, "%s: %s has left %s: not by vmmnet-hostd", vm->uuid, addr,
                 a->dev);
        return;
    case HOSTD_PUT_BACK:
        log_line(h, "%s: %s has left %s again, soon after it was put back: it "
                 "is put back once a second, without a line until it stays",
                 vm->uuid, addr, a->dev);
        break;
    case HOSTD_FOUGHT_OVER:
        break;
    }
    set_rest(a, HOSTD_FOUGHT_OVER);
}

/* One that was put back a moment ago waits for the next tick. */
static void restore_if_calm(Hostd *h, const HostdVm *vm, HostdAddress *a)
{
    if (a->lost && a->rest == HOSTD_AT_REST) {
        restore(h, vm, a);
    }
}

static void check(Hostd *h, const HostdVm *vm, HostdAddress *a)
{
    if (!a->lost && !h->ops->has(h->opaque, a)) {
        lose(h, vm, a);
    }
    restore_if_calm(h, vm, a);
}

typedef void Look(Hostd *h, const HostdVm *vm, HostdAddress *a,
                  const void *opaque);

static void for_all_here(Hostd *h, Look *look, const void *opaque)
{
    g_autoptr(GList) list = hostd_registry_list(h->vms);

    for (GList *link = list; link; link = link->next) {
        HostdVm *vm = link->data;

        for (guint i = 0; vm->place == HOSTD_HERE && i < vm->addresses->len;
             i++) {
            look(h, vm, &g_array_index(vm->addresses, HostdAddress, i),
                 opaque);
        }
    }
}

static void check_address(Hostd *h, const HostdVm *vm, HostdAddress *a,
                          const void *addr)
{
    if (IN6_ARE_ADDR_EQUAL(&a->addr, (const struct in6_addr *)addr)) {
        check(h, vm, a);
    }
}

void hostd_address_gone(Hostd *h, const struct in6_addr *addr)
{
    for_all_here(h, check_address, addr);
}

static void check_any(Hostd *h, const HostdVm *vm, HostdAddress *a,
                      const void *opaque)
{
    check(h, vm, a);
}

void hostd_check(Hostd *h)
{
    for_all_here(h, check_any, NULL);
}

static void retry(Hostd *h, const HostdVm *vm, HostdAddress *a,
                  const void *opaque)
{
    restore_if_calm(h, vm, a);
}

void hostd_retry(Hostd *h)
{
    for_all_here(h, retry, NULL);
}

static void tick(Hostd *h, const HostdVm *vm, HostdAddress *a,
                 const void *opaque)
{
    char addr[INET6_ADDRSTRLEN];

    if (a->lost) {
        restore(h, vm, a);
    } else if (a->rest_s && !--a->rest_s) {
        if (a->rest == HOSTD_FOUGHT_OVER) {
            inet_ntop(AF_INET6, &a->addr, addr, sizeof(addr));
            log_line(h, "%s: %s stays on %s", vm->uuid, addr, a->dev);
        }
        set_rest(a, HOSTD_AT_REST);
    }
}

void hostd_tick(Hostd *h)
{
    for_all_here(h, tick, NULL);
}

static void check_device(Hostd *h, const HostdVm *vm, HostdAddress *a,
                         const void *dev)
{
    if (!strcmp(a->dev, dev)) {
        check(h, vm, a);
    }
}

void hostd_device_changed(Hostd *h, const char *dev)
{
    for_all_here(h, check_device, dev);
}

typedef struct Count {
    const char *dev;
    unsigned *addresses;
} Count;

static void count_device(Hostd *h, const HostdVm *vm, HostdAddress *a,
                         const void *opaque)
{
    const Count *count = opaque;

    *count->addresses += !strcmp(a->dev, count->dev);
}

void hostd_device_set(Hostd *h, const char *dev, bool up)
{
    unsigned addresses = 0;

    for_all_here(h, count_device, &(Count) { dev, &addresses });
    if (addresses) {
        log_line(h, "%s is %s, the interface of %u address(es) of VMs", dev,
                 up ? "up" : "down", addresses);
    }
}

static void announce_device(Hostd *h, const HostdVm *vm, HostdAddress *a,
                            const void *opaque)
{
    const char *const *dev_and_why = opaque;
    char addr[INET6_ADDRSTRLEN];

    if (!a->lost && !strcmp(a->dev, dev_and_why[0])) {
        inet_ntop(AF_INET6, &a->addr, addr, sizeof(addr));
        h->ops->announce(h->opaque, a);
        log_line(h, "%s: %s is announced on %s: %s", vm->uuid, addr, a->dev,
                 dev_and_why[1]);
    }
}

void hostd_device_moved(Hostd *h, const char *dev, const char *why)
{
    for_all_here(h, announce_device, (const char *[]) { dev, why });
}
