/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses of VMs come to this host and leave it
 *
 * Pure: the host is behind HostdOps.
 */
#ifndef HOSTD_HOSTD_H
#define HOSTD_HOSTD_H

#include "hostd/core/registry.h"

typedef struct HostdOps {
    /** keep: write the registry down, so that the next process knows it */
    bool (*keep)(void *opaque, GError **errp);

    /** has_device: is there such an interface? */
    bool (*has_device)(void *opaque, const char *dev);

    /** add: give the host the address, which it may have already */
    bool (*add)(void *opaque, const HostdAddress *address, GError **errp);

    /** announce: tell the link's nodes, now and twice more */
    void (*announce)(void *opaque, const HostdAddress *address);

    /**
     * remove: take the address from the host, which may not have it any more,
     * and announce it no longer
     */
    bool (*remove)(void *opaque, const HostdAddress *address, GError **errp);

    /**
     * watch: from now on hostd_gone() is called when the VM's process ends
     *
     * Returns: false with @errp if there is no such process
     */
    bool (*watch)(void *opaque, const HostdVm *vm, GError **errp);

    /** unwatch: no longer; it may not have been */
    void (*unwatch)(void *opaque, const HostdVm *vm);

    /** believe: is @peer, who asks, the VM's process? */
    bool (*believe)(void *opaque, const void *peer, const HostdVm *vm,
                    GError **errp);

    /** tell: a line for the log */
    void (*tell)(void *opaque, const char *text);
} HostdOps;

typedef struct Hostd {
    HostdRegistry *vms;
    const HostdOps *ops;
    void *opaque;
} Hostd;

/** hostd_init: without VMs */
void hostd_init(Hostd *h, const HostdOps *ops, void *opaque);

/** hostd_destroy: addresses stay where they are */
void hostd_destroy(Hostd *h);

/**
 * hostd_register: a VM may come
 * @vm: Hostd's from now on, whether it is registered or not
 *
 * The same again changes nothing. Another one of the same UUID takes its place,
 * unless that VM is here.
 */
bool hostd_register(Hostd *h, HostdVm *vm, GError **errp);

/**
 * hostd_forget: it may not any more; if it is here, its addresses go
 * @vm: gone if this returns true
 */
bool hostd_forget(Hostd *h, HostdVm *vm, GError **errp);

/**
 * hostd_take: the VM is here: give the host its addresses and announce them
 *
 * Once more does the same once more. If some cannot be had, @errp names them,
 * and the host has the others.
 */
bool hostd_take(Hostd *h, HostdVm *vm, GError **errp);

/**
 * hostd_yield: the VM is not here any more: take its addresses away
 *
 * Of a VM that is not here, nothing is to be done. If some cannot be taken
 * away, @errp names them, and the VM is HOSTD_LEAVING until it is tried again.
 */
bool hostd_yield(Hostd *h, HostdVm *vm, GError **errp);

/** hostd_gone: its process has ended; yields, if it was here */
void hostd_gone(Hostd *h, HostdVm *vm);

/**
 * hostd_settle: make the host have what the registry says, at start
 *
 * A VM whose process has gone meanwhile is not here any more.
 */
void hostd_settle(Hostd *h);

#endif /* HOSTD_HOSTD_H */
