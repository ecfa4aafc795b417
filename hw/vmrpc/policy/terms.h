/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The terms of an allow rule: on what conditions it allows
 *
 * Few rules have any.  A socket keeps the terms of the rule that has allowed
 * its peer, also after a reload, so terms and what they consist of are counted
 * references, which any thread may take and drop.
 *
 * Thread safety: immutable, but for what an hourly budget has spent, which the
 * server's lock guards.
 */
#ifndef HW_VMRPC_TERMS_H
#define HW_VMRPC_TERMS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <glib.h>

#include "hw/vmrpc/via/handshake.h"

/* An hour begins with the first use after the last one has ended. */
#define VMRPC_HOUR_US   (INT64_C(3600) * 1000000)

/* So much in an hour: octets, or names. */
typedef struct VmrpcHourly {
    uint64_t most;              /* 1 or more */
    uint64_t spent;             /* of this hour */
    int64_t began_us;           /* this hour; 0: never used; may be negative */
    GHashTable *names;          /* of this hour, if it is of names, or NULL */
} VmrpcHourly;

/* A "proxy" statement. */
typedef struct VmrpcProxy {
    char *name;
    VmrpcViaKind kind;
    int family;                 /* AF_INET: addr4, AF_INET6: addr6 */
    union {
        struct in_addr addr4;
        struct in6_addr addr6;
    };
    uint16_t port;              /* host byte order */
    char *secret;               /* id of the secret; NULL: none */
    char *user, *password;      /* of the secret, once it is known */
} VmrpcProxy;

typedef struct VmrpcTerms {
    VmrpcHourly *sent;          /* octets of the guest; NULL: no budget */
    VmrpcHourly *names;         /* names below the wildcard; NULL: " */
    VmrpcProxy *via;            /* NULL: directly */
} VmrpcTerms;

/** vmrpc_terms_new: without any condition; one reference */
VmrpcTerms *vmrpc_terms_new(void);

/** vmrpc_terms_free: @terms has lost its last reference */
void vmrpc_terms_free(gpointer terms);

/** vmrpc_terms_ref, vmrpc_terms_unref: @terms may be NULL, and mostly is */
static inline VmrpcTerms *vmrpc_terms_ref(VmrpcTerms *terms)
{
    return terms ? g_atomic_rc_box_acquire(terms) : NULL;
}

static inline void vmrpc_terms_unref(VmrpcTerms *terms)
{
    if (terms) {
        g_atomic_rc_box_release_full(terms, vmrpc_terms_free);
    }
}

/** vmrpc_proxy_new, _ref, _unref: the same for a proxy, all zero */
VmrpcProxy *vmrpc_proxy_new(void);
VmrpcProxy *vmrpc_proxy_ref(VmrpcProxy *proxy);
void vmrpc_proxy_unref(VmrpcProxy *proxy);

/** vmrpc_hourly_new, _ref, _unref: the same for a budget of @most an hour */
VmrpcHourly *vmrpc_hourly_new(uint64_t most);
VmrpcHourly *vmrpc_hourly_ref(VmrpcHourly *budget);
void vmrpc_hourly_unref(VmrpcHourly *budget);

/**
 * vmrpc_hourly_take: spend of a budget
 * @wanted: what it shall give
 * @now_us: of any clock that never goes back, above 0
 *
 * Returns: what it gives, 0 to @wanted.
 */
uint64_t vmrpc_hourly_take(VmrpcHourly *budget, uint64_t wanted,
                           int64_t now_us);

/**
 * vmrpc_hourly_take_name: the same for one name, if the hour has not seen it
 * @name: DNS text; case does not matter
 *
 * Returns: false if it is one too many.
 */
bool vmrpc_hourly_take_name(VmrpcHourly *budget, const char *name,
                            int64_t now_us);

/** vmrpc_hourly_give_back: @unused of what was taken has not been used */
void vmrpc_hourly_give_back(VmrpcHourly *budget, uint64_t unused);

#endif /* HW_VMRPC_TERMS_H */
