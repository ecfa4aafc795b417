/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Adds addresses of VMs to this host and removes them
 *
 * This code makes no system calls; it uses HostdOps.
 */
#ifndef HOSTD_HOSTD_H
#define HOSTD_HOSTD_H

#include "hostd/core/registry.h"

typedef struct HostdOps {
    /** keep: save the registry for the next process */
    bool (*keep)(void *opaque, GError **errp);

    /**
     * has_device: does the interface exist?
     *
     * An alternative name is replaced by the name.
     */
    bool (*has_device)(void *opaque, char dev[IF_NAMESIZE]);

    /** is_up: is the interface up? */
    bool (*is_up)(void *opaque, const char *dev);

    /** has: does the host have the address, on its interface? */
    bool (*has)(void *opaque, const HostdAddress *address);

    /** add: add an address to the host; success if it has it already */
    bool (*add)(void *opaque, const HostdAddress *address, GError **errp);

    /** announce: advertise the address to the link, three times in all */
    void (*announce)(void *opaque, const HostdAddress *address);

    /**
     * remove: remove an address from the host and stop its announcements;
     * success if the host does not have it
     */
    bool (*remove)(void *opaque, const HostdAddress *address, GError **errp);

    /**
     * watch: call hostd_gone() when the VM's process ends
     *
     * Returns: false with @errp if there is no such process
     */
    bool (*watch)(void *opaque, const HostdVm *vm, GError **errp);

    /** unwatch: stop watching; does nothing if it was not watched */
    void (*unwatch)(void *opaque, const HostdVm *vm);

    /** believe: is @peer, which sends the request, the VM's process? */
    bool (*is_vm)(void *opaque, const void *peer, const HostdVm *vm,
                  GError **errp);

    /** log_line: write a line to the log */
    void (*log_line)(void *opaque, const char *text);
} HostdOps;

typedef struct Hostd {
    HostdRegistry *vms;
    const HostdOps *ops;
    void *opaque;
} Hostd;

/** hostd_init: initialize without VMs */
void hostd_init(Hostd *h, const HostdOps *ops, void *opaque);

/** hostd_destroy: free; the host's addresses stay */
void hostd_destroy(Hostd *h);

/**
 * hostd_register: register a VM
 * @vm: taken over by @h, also on failure
 *
 * Registering the same VM again changes nothing. A VM with the same UUID is
 * replaced, unless that VM is on this host.
 */
bool hostd_register(Hostd *h, HostdVm *vm, GError **errp);

/**
 * hostd_forget: unregister a VM; if it is on this host, remove its addresses
 * @vm: freed if this returns true
 */
bool hostd_forget(Hostd *h, HostdVm *vm, GError **errp);

/**
 * hostd_take: the VM is on this host: add and announce its addresses
 *
 * The call can be repeated. If some addresses cannot be added, @errp names
 * them, and the host has the others.
 */
bool hostd_take(Hostd *h, HostdVm *vm, GError **errp);

/**
 * hostd_yield: the VM is no longer on this host: remove its addresses
 *
 * For a VM that is not on this host, nothing is done. If some addresses cannot
 * be removed, @errp names them, and the VM is HOSTD_LEAVING until another
 * attempt succeeds.
 */
bool hostd_yield(Hostd *h, HostdVm *vm, GError **errp);

/** hostd_gone: the VM's process has ended; yields if the VM was here */
void hostd_gone(Hostd *h, HostdVm *vm);

/**
 * hostd_settle: at start, make the host's addresses agree with the registry
 *
 * A VM whose process has ended meanwhile is not on this host any more.
 */
void hostd_settle(Hostd *h);

/**
 * hostd_address_gone: another program, or the kernel, has removed an address
 *
 * If it is the address of a VM that is here, it is added again and announced:
 * at once if its interface is up, else by hostd_device_changed().
 */
void hostd_address_gone(Hostd *h, const struct in6_addr *addr);

/**
 * hostd_device_changed: an interface has come, changed, or is called otherwise
 * @dev: its name, or the one it had
 *
 * Looks whether @dev has the addresses of VMs that are here. What is lost is
 * added and announced, if the interface is up.
 */
void hostd_device_changed(Hostd *h, const char *dev);

/**
 * hostd_device_set: an interface was set up or down
 *
 * Says so if it is the interface of addresses of VMs that are here: it may keep
 * them, and nobody reaches them.
 */
void hostd_device_set(Hostd *h, const char *dev, bool up);

/**
 * hostd_device_moved: nodes of the link do not know where the interface is
 * @why: for the log
 *
 * Announces what it has again.
 */
void hostd_device_moved(Hostd *h, const char *dev, const char *why);

/**
 * hostd_retry: add what is lost, if its interface is up
 *
 * An address that was put back a moment ago waits for hostd_tick().
 */
void hostd_retry(Hostd *h);

/**
 * hostd_tick: add what is lost, if its interface is up; call it once a second
 *
 * The kernel does not tell of all that may let it succeed, such as IPv6 that is
 * switched on (disable_ipv6).
 */
void hostd_tick(Hostd *h);

/** hostd_check: look at the addresses of all VMs that are here */
void hostd_check(Hostd *h);

#endif /* HOSTD_HOSTD_H */
