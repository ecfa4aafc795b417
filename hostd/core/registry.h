/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The VMs that may ask for addresses, by UUID */
#ifndef HOSTD_REGISTRY_H
#define HOSTD_REGISTRY_H

#include <glib.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>

#define HOSTD_UUID_LEN          36u
#define HOSTD_VMS_MAX           1024u
#define HOSTD_ADDRESSES_MAX     16u     /* of one VM */

#define HOSTD_ERROR             (hostd_error_quark())

typedef enum HostdError {
    HOSTD_ERROR_LINE,           /* a line cannot be read */
    HOSTD_ERROR_REFUSED,        /* it can, and must not be followed */
    HOSTD_ERROR_HOST,           /* the host's kernel, or a file, refuses */
} HostdError;

GQuark hostd_error_quark(void);

/* An address, and the interface that has it while the VM is on this host. */
typedef struct HostdAddress {
    struct in6_addr addr;
    char dev[IF_NAMESIZE];
} HostdAddress;

/* Where a VM is, as far as this host is concerned. */
typedef enum HostdPlace {
    HOSTD_AWAY,                 /* not here; its addresses are not ours */
    HOSTD_LEAVING,              /* its addresses are being taken away */
    HOSTD_HERE,
} HostdPlace;

typedef struct HostdVm {
    char uuid[HOSTD_UUID_LEN + 1];      /* lower case */
    char *pid_file;             /* of its QEMU */
    GArray *addresses;          /* of HostdAddress */
    HostdPlace place;
} HostdVm;

/** hostd_vm_new: without addresses; the texts are copied */
HostdVm *hostd_vm_new(const char *uuid, const char *pid_file);

/** hostd_vm_free: NULL is allowed */
void hostd_vm_free(HostdVm *vm);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(HostdVm, hostd_vm_free)

/**
 * hostd_vm_add: give it one more address
 *
 * Returns: false with @errp if it has that, or HOSTD_ADDRESSES_MAX, already
 */
bool hostd_vm_add(HostdVm *vm, const HostdAddress *address, GError **errp);

/** hostd_vm_equal: are pid file and addresses, in their order, the same? */
bool hostd_vm_equal(const HostdVm *a, const HostdVm *b);

typedef struct HostdRegistry HostdRegistry;

HostdRegistry *hostd_registry_new(void);
void hostd_registry_free(HostdRegistry *r);

/** hostd_registry_find: NULL: there is none of that UUID (lower case) */
HostdVm *hostd_registry_find(const HostdRegistry *r, const char *uuid);

/**
 * hostd_registry_check: could @vm be put in, in the place of one of its UUID?
 *
 * Returns: false with @errp if there are HOSTD_VMS_MAX others, or one of them
 * has one of its addresses
 */
bool hostd_registry_check(const HostdRegistry *r, const HostdVm *vm,
                          GError **errp);

/** hostd_registry_put: put @vm in, which is the registry's from then on */
void hostd_registry_put(HostdRegistry *r, HostdVm *vm);

/** hostd_registry_steal: take @vm out; it is the caller's from then on */
void hostd_registry_steal(HostdRegistry *r, HostdVm *vm);

/** hostd_registry_list: all VMs by UUID; free the list, not what is in it */
GList *hostd_registry_list(const HostdRegistry *r);

#endif /* HOSTD_REGISTRY_H */
