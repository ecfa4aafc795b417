/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmmnet-hostd as a process
 *
 * core/hostd.c decides what to do, host/ makes the system calls, service/ has
 * the socket and the state file. This file connects them, in one thread.
 */
#include <errno.h>
#include <glib-unix.h>
#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/rtnl.h"
#include "base/systemd.h"
#include "hostd/daemon.h"
#include "hostd/host/announce.h"
#include "hostd/host/netlink.h"
#include "hostd/host/process.h"
#include "hostd/service/server.h"
#include "hostd/service/store.h"

#define RETRY_SAVE_S    1
#define TICK_S          1

typedef struct Daemon {
    GMainLoop *loop;
    const char *state;
    guint behind;               /* timer: retries saving the state file */
    Hostd hostd;
    HostdNetlink netlink;
    HostdAnnounce announce;
    RtnlWatch rtnl;
    guint rtnl_source;
    GHashTable *devices;        /* RtnlEvent, as last told, by index */
    GHashTable *watches;        /* Watch by uuid */
    HostdServer *server;
} Daemon;

/* Watches the process of a VM on this host. */
typedef struct Watch {
    Daemon *daemon;
    HostdVm *vm;
    int pidfd;
    guint source;
} Watch;

/* --- HostdOps ------------------------------------------------------------- */

static gboolean retry_save(gpointer opaque)
{
    Daemon *d = opaque;

    if (!hostd_store_save(d->state, d->hostd.vms, NULL)) {
        return G_SOURCE_CONTINUE;
    }
    g_message("%s: written", d->state);
    d->behind = 0;
    return G_SOURCE_REMOVE;
}

static bool keep(void *opaque, GError **errp)
{
    Daemon *d = opaque;
    bool done = hostd_store_save(d->state, d->hostd.vms, errp);

    if (!done && !d->behind) {
        d->behind = g_timeout_add_seconds(RETRY_SAVE_S, retry_save, d);
    }
    return done;
}

static bool has_device(void *opaque, char dev[IF_NAMESIZE])
{
    unsigned index = if_nametoindex(dev);
    char name[IF_NAMESIZE];

    if (!index || !if_indextoname(index, name)) {
        return false;
    }
    g_strlcpy(dev, name, IF_NAMESIZE);
    return true;
}

static bool is_up(void *opaque, const char *dev)
{
    Daemon *d = opaque;

    return hostd_netlink_is_up(&d->netlink, dev);
}

static bool has(void *opaque, const HostdAddress *address)
{
    Daemon *d = opaque;

    return hostd_netlink_has(&d->netlink, address);
}

static bool add(void *opaque, const HostdAddress *address, GError **errp)
{
    Daemon *d = opaque;

    return hostd_netlink_add(&d->netlink, address, errp);
}

static void announce(void *opaque, const HostdAddress *address)
{
    Daemon *d = opaque;

    hostd_announce_begin(&d->announce, address);
}

static bool drop(void *opaque, const HostdAddress *address, GError **errp)
{
    Daemon *d = opaque;

    hostd_announce_end(&d->announce, address);
    return hostd_netlink_remove(&d->netlink, address, errp);
}

static void watch_free(gpointer opaque)
{
    Watch *w = opaque;

    g_source_remove(w->source);
    close(w->pidfd);
    g_free(w);
}

static gboolean process_ended(gint fd, GIOCondition condition, gpointer opaque)
{
    Watch *w = opaque;
    Daemon *d = w->daemon;
    HostdVm *vm = w->vm;

    g_hash_table_remove(d->watches, vm->uuid);
    hostd_gone(&d->hostd, vm);
    return G_SOURCE_CONTINUE;   /* watch_free() has removed it */
}

static bool watch(void *opaque, const HostdVm *vm, GError **errp)
{
    Daemon *d = opaque;
    int pidfd = hostd_process_open(vm->pid_file, errp);
    Watch *w;

    if (pidfd < 0) {
        return false;
    }
    w = g_new0(Watch, 1);
    w->daemon = d;
    w->vm = hostd_registry_find(d->hostd.vms, vm->uuid);
    w->pidfd = pidfd;
    w->source = g_unix_fd_add(pidfd, G_IO_IN, process_ended, w);
    g_hash_table_replace(d->watches, w->vm->uuid, w);
    return true;
}

static void unwatch(void *opaque, const HostdVm *vm)
{
    Daemon *d = opaque;

    g_hash_table_remove(d->watches, vm->uuid);
}

static bool is_vm(void *opaque, const void *peer, const HostdVm *vm,
                  GError **errp)
{
    return hostd_peer_is(peer, vm->pid_file, errp);
}

static void log_line(void *opaque, const char *text)
{
    g_message("%s", text);
}

static const HostdOps ops = {
    .keep = keep,
    .has_device = has_device,
    .is_up = is_up,
    .has = has,
    .add = add,
    .announce = announce,
    .remove = drop,
    .watch = watch,
    .unwatch = unwatch,
    .is_vm = is_vm,
    .log_line = log_line,
};

/* --- changes of the host by others --------------------------------------- */

/*
 * An interface is there, or has changed. With another MAC address, or when it
 * has a carrier again (a bridge: its first port that forwards), nodes of the
 * link have to learn where its addresses are.
 */
static void link_told(Daemon *d, const RtnlEvent *now)
{
    g_autofree RtnlEvent *old = NULL;
    gpointer key = GUINT_TO_POINTER(now->index);

    g_hash_table_steal_extended(d->devices, key, NULL, (gpointer *)&old);
    g_hash_table_insert(d->devices, key, g_memdup2(now, sizeof(*now)));
    if (old && strcmp(old->name, now->name)) {
        hostd_device_changed(&d->hostd, old->name);
    }
    if (old && (old->link_flags ^ now->link_flags) & IFF_UP) {
        hostd_device_set(&d->hostd, now->name, now->link_flags & IFF_UP);
    }
    hostd_device_changed(&d->hostd, now->name);
    if (!old) {
        return;
    } else if (memcmp(old->mac, now->mac, sizeof(now->mac))) {
        hostd_device_moved(&d->hostd, now->name, "another MAC address");
    } else if (now->link_flags & ~old->link_flags & IFF_RUNNING) {
        hostd_device_moved(&d->hostd, now->name, "it has a carrier");
    }
}

/* Looks at all interfaces, at the start or when events were lost. */
static void look_at_links(Daemon *d)
{
    g_autofree RtnlEvent *event = g_new0(RtnlEvent, 1);
    struct ifaddrs *list;

    if (getifaddrs(&list) < 0) {
        g_warning("cannot list interfaces: %s", g_strerror(errno));
        return;
    }
    for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
        const struct sockaddr_ll *ll = (const void *)i->ifa_addr;

        if (!ll || ll->sll_family != AF_PACKET) {
            continue;
        }
        *event = (RtnlEvent) { .kind = RTNL_LINK, .index = ll->sll_ifindex,
                               .link_flags = i->ifa_flags };
        g_strlcpy(event->name, i->ifa_name, sizeof(event->name));
        if (ll->sll_halen == sizeof(event->mac)) {
            memcpy(event->mac, ll->sll_addr, sizeof(event->mac));
        }
        link_told(d, event);
    }
    freeifaddrs(list);
}

static gboolean host_changed(gint fd, GIOCondition condition, gpointer opaque)
{
    Daemon *d = opaque;
    RtnlEvent event;

    while (rtnl_watch_next(&d->rtnl, &event)) {
        switch (event.kind) {
        case RTNL_ADDRESS_GONE:
            hostd_address_gone(&d->hostd, &event.addr);
            break;
        case RTNL_LINK:
            link_told(d, &event);
            break;
        case RTNL_LINK_GONE:
            g_hash_table_remove(d->devices, GUINT_TO_POINTER(event.index));
            break;
        case RTNL_ADDRESS:
            /* IPv6 may have been switched on again (disable_ipv6). */
            hostd_retry(&d->hostd);
            break;
        case RTNL_LOST:
            look_at_links(d);
            hostd_check(&d->hostd);
            break;
        default:
            break;
        }
    }
    return G_SOURCE_CONTINUE;
}

static gboolean tick(gpointer opaque)
{
    Daemon *d = opaque;

    hostd_tick(&d->hostd);
    hostd_server_tick(d->server);
    return G_SOURCE_CONTINUE;
}

static bool watch_host(Daemon *d, GError **errp)
{
    int ret = rtnl_watch_open(&d->rtnl, RTNL_LINKS | RTNL_ADDRESSES);

    if (ret < 0) {
        g_set_error(errp, HOSTD_ERROR, HOSTD_ERROR_HOST, "cannot watch the "
                    "host's addresses: %s", g_strerror(-ret));
        return false;
    }
    d->rtnl_source = g_unix_fd_add(d->rtnl.fd, G_IO_IN, host_changed, d);
    look_at_links(d);
    return true;
}

/* --- start and stop ------------------------------------------------------- */

static gboolean stop(gpointer opaque)
{
    Daemon *d = opaque;

    g_main_loop_quit(d->loop);
    return G_SOURCE_CONTINUE;
}

/* Tells which interfaces of VMs that are here reach nobody. */
static void look_at_downs(Daemon *d)
{
    const RtnlEvent *device;
    GHashTableIter iter;

    g_hash_table_iter_init(&iter, d->devices);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&device)) {
        if (!(device->link_flags & IFF_UP)) {
            hostd_device_set(&d->hostd, device->name, false);
        }
    }
}

/* The socket is opened last, when the registry is loaded and applied. */
static bool start(Daemon *d, const char *path, GError **errp)
{
    if (!watch_host(d, errp) ||
        !hostd_store_load(d->state, d->hostd.vms, errp)) {
        return false;
    }
    hostd_settle(&d->hostd);
    look_at_downs(d);
    if (!hostd_store_save(d->state, d->hostd.vms, errp)) {
        return false;
    }
    d->server = hostd_server_new(path, &d->hostd, errp);
    return d->server;
}

static void run(Daemon *d)
{
    d->loop = g_main_loop_new(NULL, FALSE);
    g_unix_signal_add(SIGINT, stop, d);
    g_unix_signal_add(SIGTERM, stop, d);
    g_timeout_add_seconds(TICK_S, tick, d);
    puts("vmmnet-hostd: ready");
    fflush(stdout);
    base_systemd_notify("READY=1");
    g_main_loop_run(d->loop);
    base_systemd_notify("STOPPING=1");
    g_main_loop_unref(d->loop);
}

bool hostd_serve(const char *path, const char *state, GError **errp)
{
    Daemon d = { .state = state, .rtnl.fd = -1 };
    bool done = false;

    if (!hostd_netlink_open(&d.netlink, errp)) {
        return false;
    }
    if (!hostd_announce_open(&d.announce, errp)) {
        goto close_netlink;
    }
    hostd_init(&d.hostd, &ops, &d);
    d.devices = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    d.watches = g_hash_table_new_full(g_str_hash, g_str_equal, NULL,
                                      watch_free);
    done = start(&d, path, errp);
    if (done) {
        run(&d);
    }
    hostd_server_free(d.server);
    if (d.rtnl_source) {
        g_source_remove(d.rtnl_source);
    }
    rtnl_watch_close(&d.rtnl);
    g_hash_table_destroy(d.devices);
    g_hash_table_destroy(d.watches);
    hostd_destroy(&d.hostd);
    hostd_announce_close(&d.announce);
close_netlink:
    rtnl_close(&d.netlink);
    return done;
}
