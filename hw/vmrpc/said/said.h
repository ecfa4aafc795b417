/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The name that a guest says to a server, and why one is not accepted
 *
 * Motivation: a rule by name knows which name the guest asked for and which
 * address it connects to.  Many servers share an address; the name that the
 * guest says in its first bytes chooses among them.
 */
#ifndef HW_VMRPC_SAID_H
#define HW_VMRPC_SAID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Octets that are kept of a beginning that is not complete */
#define VMRPC_SAID_KEEP_MAX     16384
/* A name as text, with NUL */
#define VMRPC_SAID_NAME_MAX     254
/* An ALPN protocol (RFC 7301) with NUL; longer ones are cut */
#define VMRPC_SAID_ALPN_MAX     32

/* Why a guest's first bytes are refused */
typedef enum VmrpcSaidReason {
    VMRPC_SAID_OK,
    VMRPC_SAID_NOT_TLS,         /* another protocol, SSLv2's form included */
    VMRPC_SAID_NOT_HTTP,        /* another protocol, at once or by its means */
    VMRPC_SAID_NO_NAME,         /* none, or an address instead of it */
    VMRPC_SAID_OTHER_NAME,      /* the rules refuse this name here */
    VMRPC_SAID_NOT_ASKED,       /* it was not asked, or led elsewhere */
    VMRPC_SAID_MALFORMED,       /* two readers may understand it differently */
    VMRPC_SAID_TOO_LONG,        /* more than VMRPC_SAID_KEEP_MAX */
    VMRPC_SAID_LATE,            /* not complete in time */
    VMRPC_SAID_ECH,             /* the name may be an outer one */
    VMRPC_SAID_FULL,            /* the VM's undecided connections keep too much */
    VMRPC_SAID_COUNT
} VmrpcSaidReason;

/* What a guest says at the beginning of a stream */
typedef struct VmrpcSaid {
    char name[VMRPC_SAID_NAME_MAX];     /* lower case, no dot at the end */
    char alpn[VMRPC_SAID_ALPN_MAX];     /* the first one, printable; or "" */
    bool ech;                   /* encrypted_client_hello is there */
} VmrpcSaid;

/* What to do with the first bytes that are kept; see hello.h and head.h */
typedef enum VmrpcSaidStep {
    VMRPC_SAID_MORE,
    VMRPC_SAID_SAID,
    VMRPC_SAID_DONE,
    VMRPC_SAID_REFUSED,
} VmrpcSaidStep;

/** vmrpc_said_reason: "not-tls", "other-name", ...; a static string */
const char *vmrpc_said_reason(VmrpcSaidReason reason);

/**
 * vmrpc_said_name: read a host name that a guest says
 * @text: @len octets, without NUL
 * @name: the name in lower case, on success
 *
 * A name has plain letters, digits, '-' and '_' in labels of 1 to 63, 253
 * octets in all, and no dot at the end (RFC 6066, section 3).  Its last label
 * does not begin with a digit, as that of an IPv4 address does.
 *
 * Returns: VMRPC_SAID_OK, _NO_NAME for an address, or _MALFORMED.
 */
VmrpcSaidReason vmrpc_said_name(const uint8_t *text, size_t len,
                                char name[VMRPC_SAID_NAME_MAX]);

#endif /* HW_VMRPC_SAID_H */
