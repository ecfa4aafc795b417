/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tells when the host does nothing with the frames of a stage's tap
 *
 * Theory of operation: events of the tap, and of the interface that it is a
 * port of, only cause a look at both, so that nothing depends on their order. A
 * tap may be down when QEMU starts: its owner sets it up when the VM runs. So
 * this is told only after the tap has refused a frame, or when it changes.
 */
#include "qemu/osdep.h"

#include "net/stage/tap-watch.h"

#ifdef CONFIG_LINUX

#include "base/rtnl.h"
#include "net/stage/tap.h"
#include "qemu/cutils.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"

typedef enum TapState {
    TAP_UP,
    TAP_DOWN,
    TAP_LEFT,                   /* has left its bridge */
    TAP_BRIDGE_DOWN,
    TAP_DELETED,
} TapState;

struct StageTapWatch {
    NetClientState *nc;
    const char *type, *id;
    TapState state;
    unsigned index, master;     /* whose events matter; 0: none */
    char name[IF_NAMESIZE];
    char bridge[IF_NAMESIZE];   /* that it is or was a port of; "": none */
    RtnlWatch host;
};

static TapState look(StageTapWatch *w)
{
    RtnlEvent tap, master;
    int ret = net_stage_tap_link(w->nc, &tap);

    if (ret < 0) {
        return ret == -ENODEV ? TAP_DELETED : w->state;
    }
    w->index = tap.index;
    w->master = tap.master;
    pstrcpy(w->name, sizeof(w->name), tap.name);
    if (!(tap.link_flags & IFF_UP)) {
        return TAP_DOWN;
    }
    if (!tap.master) {
        return w->bridge[0] ? TAP_LEFT : TAP_UP;
    }
    if (!net_stage_tap_ask_link(tap.master, "", &master)) {
        return w->state;        /* it is being deleted: an event follows */
    }
    pstrcpy(w->bridge, sizeof(w->bridge), master.name);
    /* Open vSwitch's datapath passes frames also when its interface is down. */
    return master.is_bridge && !(master.link_flags & IFF_UP) ? TAP_BRIDGE_DOWN
                                                             : TAP_UP;
}

static void set_state(StageTapWatch *w, TapState state)
{
    if (state == w->state) {
        return;
    }
    w->state = state;
    switch (state) {
    case TAP_UP:
        info_report("%s '%s': %s is connected again", w->type, w->id, w->name);
        break;
    case TAP_DOWN:
        warn_report("%s '%s': %s is down: no frame passes until it is set up",
                    w->type, w->id, w->name);
        break;
    case TAP_LEFT:
        warn_report("%s '%s': %s is no port of %s any more: frames reach "
                    "nobody there until it is one again", w->type, w->id,
                    w->name, w->bridge);
        break;
    case TAP_BRIDGE_DOWN:
        warn_report("%s '%s': the bridge %s of %s is down: it drops all frames "
                    "until it is set up", w->type, w->id, w->bridge, w->name);
        break;
    case TAP_DELETED:
        warn_report("%s '%s': %s was deleted: no frame passes until NIC and "
                    "netdevs are created anew", w->type, w->id, w->name);
        break;
    }
}

static void host_changed(void *opaque)
{
    StageTapWatch *w = opaque;
    bool matters = false;
    RtnlEvent event;

    while (rtnl_watch_next(&w->host, &event)) {
        matters |= event.kind == RTNL_LOST || event.index == w->index ||
                   event.index == w->master;
    }
    if (matters) {
        set_state(w, look(w));
    }
}

StageTapWatch *stage_tap_watch_new(NetClientState *nc, const char *type,
                                   const char *id)
{
    StageTapWatch *w;
    TapState state;
    int ret;

    if (nc->info->type != NET_CLIENT_DRIVER_TAP) {
        return NULL;
    }
    w = g_new0(StageTapWatch, 1);
    w->nc = nc;
    w->type = type;
    w->id = id;
    ret = rtnl_watch_open(&w->host, RTNL_LINKS);
    if (ret < 0) {
        warn_report("%s '%s': cannot watch the tap: %s", type, id,
                    strerror(-ret));
    } else {
        qemu_set_fd_handler(w->host.fd, host_changed, NULL, w);
    }
    state = look(w);
    if (state != TAP_DOWN) {
        set_state(w, state);
    }
    return w;
}

void stage_tap_watch_failed(StageTapWatch *w)
{
    if (w && w->state == TAP_UP) {
        set_state(w, look(w));
    }
}

void stage_tap_watch_free(StageTapWatch *w)
{
    if (!w) {
        return;
    }
    if (w->host.fd >= 0) {
        qemu_set_fd_handler(w->host.fd, NULL, NULL, NULL);
    }
    rtnl_watch_close(&w->host);
    g_free(w);
}

#else

StageTapWatch *stage_tap_watch_new(NetClientState *nc, const char *type,
                                   const char *id)
{
    return NULL;
}

void stage_tap_watch_failed(StageTapWatch *w)
{
}

void stage_tap_watch_free(StageTapWatch *w)
{
}

#endif
