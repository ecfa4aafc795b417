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
#define HOSTD_ADDRESSES_MAX     16u     /* maximum for a VM */

#define HOSTD_ERROR             (hostd_error_quark())

typedef enum HostdError {
    HOSTD_ERROR_LINE,           /* a line cannot be parsed */
    HOSTD_ERROR_REFUSED,        /* a valid line that is not allowed */
    HOSTD_ERROR_HOST,           /* a system call fails */
} HostdError;

GQuark hostd_error_quark(void);

/* How long an address that others had removed has stayed. */
typedef enum HostdRest {
    HOSTD_AT_REST,              /* long enough, or it was never removed */
    HOSTD_PUT_BACK,             /* not long */
    HOSTD_FOUGHT_OVER,          /* it was removed soon after it was put back */
} HostdRest;

/* An address, and the interface that has it while the VM is on this host. */
typedef struct HostdAddress {
    struct in6_addr addr;
    char dev[IF_NAMESIZE];
    bool lost;                  /* the VM is here, the host has not got it */
    bool told;                  /* lost: the log has why it cannot be added */
    HostdRest rest;
    unsigned rest_s;            /* seconds until HOSTD_AT_REST */
} HostdAddress;

/* The place of a VM, as seen from this host. */
typedef enum HostdPlace {
    HOSTD_AWAY,                 /* not on this host */
    HOSTD_LEAVING,              /* addresses are being removed */
    HOSTD_HERE,
} HostdPlace;

typedef struct HostdVm {
    char uuid[HOSTD_UUID_LEN + 1];      /* lower case */
    char *pid_file;             /* of its QEMU process */
    GArray *addresses;          /* of HostdAddress */
    HostdPlace place;
} HostdVm;

/** hostd_vm_new: create, without addresses; the texts are copied */
HostdVm *hostd_vm_new(const char *uuid, const char *pid_file);

/** hostd_vm_free: @vm may be NULL */
void hostd_vm_free(HostdVm *vm);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(HostdVm, hostd_vm_free)

/**
 * hostd_vm_add: add an address
 *
 * Returns: false with @errp if it has the address, or HOSTD_ADDRESSES_MAX,
 * already
 */
bool hostd_vm_add(HostdVm *vm, const HostdAddress *address, GError **errp);

/** hostd_vm_equal: are pid file and addresses (with their order) the same? */
bool hostd_vm_equal(const HostdVm *a, const HostdVm *b);

typedef struct HostdRegistry HostdRegistry;

HostdRegistry *hostd_registry_new(void);
void hostd_registry_free(HostdRegistry *r);

/** hostd_registry_find: find by UUID (lower case); NULL: none */
HostdVm *hostd_registry_find(const HostdRegistry *r, const char *uuid);

/**
 * hostd_registry_check: can @vm be added, replacing one with the same UUID?
 *
 * Returns: false with @errp if there are HOSTD_VMS_MAX others, or one of them
 * has one of its addresses
 */
bool hostd_registry_check(const HostdRegistry *r, const HostdVm *vm,
                          GError **errp);

/** hostd_registry_put: add @vm; the registry owns it */
void hostd_registry_put(HostdRegistry *r, HostdVm *vm);

/** hostd_registry_steal: remove @vm without freeing it */
void hostd_registry_steal(HostdRegistry *r, HostdVm *vm);

/** hostd_registry_list: all VMs, by UUID; the caller frees only the list */
GList *hostd_registry_list(const HostdRegistry *r);

#endif /* HOSTD_REGISTRY_H */
