/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc audit: an event as a line of JSON
 *
 * docs/vmrpc-audit.md describes the lines for their readers, and vmrpc.json has
 * their schema (VmrpcAuditLine).
 */
#ifndef HW_VMRPC_AUDIT_LINE_H
#define HW_VMRPC_AUDIT_LINE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* The version of the format, "v" */
#define VMRPC_AUDIT_VERSION     1

/* Bytes of a line at most, newline included: a pipe takes so many at once. */
#define VMRPC_AUDIT_LINE_MAX    4096

/* Of these, what "v" and "seq" may take at the beginning */
#define VMRPC_AUDIT_SEQ_MAX     64

/* Bytes of a line "close" at most, if id and name of the VM are short */
#define VMRPC_AUDIT_CLOSE_MAX   512

typedef enum VmrpcAuditEvent {
    VMRPC_AUDIT_OPEN,           /* traffic with a peer begins */
    VMRPC_AUDIT_REFUSED,        /* the policy or a limit refused something */
    VMRPC_AUDIT_WATCHED,        /* "watch" let pass what "deny" would not */
    VMRPC_AUDIT_SAID,           /* a name in the first bytes of a stream */
    VMRPC_AUDIT_CLOSE,          /* a socket that was opened is closed */
    VMRPC_AUDIT_NAME,           /* the guest asks for a name */
    VMRPC_AUDIT_ANSWER,         /* addresses of a name, or its validation */
    VMRPC_AUDIT_POLICY,         /* a policy is in force, or was refused */
    VMRPC_AUDIT_LOST,           /* lines are missing here */
    VMRPC_AUDIT_EVENTS
} VmrpcAuditEvent;

/*
 * An event and its facts.  All strings may hold any octets, and be NULL where
 * a line may do without; they are valid during the call.
 */
typedef struct VmrpcAuditEntry {
    VmrpcAuditEvent event;
    int64_t time_us;            /* since 1970, UTC */
    int proto;                  /* IPPROTO_TCP, _UDP, _ICMP; 0: none */
    bool incoming;              /* the peer began */
    const struct sockaddr_storage *peer;    /* on the host's side; or NULL */
    const char *address;        /* the same as text, with @port; or NULL */
    unsigned port;
    const char *const *asked;   /* names of the peer, the latest first */
    size_t asked_num;
    const char *said;           /* in a TLS hello or an HTTP head */
    const char *says;           /* "tls", "http" */
    const char *alpn;
    const char *verdict;        /* "allow", "deny", "watch" */
    const char *reason;
    int error;                  /* positive errno; 0: none */
    unsigned line;              /* of the policy file; 0: none */
    const char *policy;         /* its id */
    const char *via;            /* the proxy's name in the policy */
    bool has_socket;
    uint32_t socket;            /* the guest's handle */
    /* CLOSE */
    uint64_t sent, received;    /* bytes */
    uint64_t ms;
    /* NAME, ANSWER */
    const char *name;
    unsigned type;              /* of the question; 0: none */
    const struct in6_addr *addresses;
    size_t address_num;
    const char *security;
    /* POLICY */
    const char *file;
    const char *problem;
    /* LOST */
    uint64_t count;
} VmrpcAuditEntry;

/** vmrpc_audit_event_name: "open", "refused", ...; a static string */
const char *vmrpc_audit_event_name(VmrpcAuditEvent event);

/**
 * vmrpc_audit_format: everything of a line behind "seq", with the newline
 * @who: members that all lines have, ",\"vm\":\"web\",\"dev\":\"vmrpc0\""
 * @text: room for @size bytes, at least VMRPC_AUDIT_LINE_MAX -
 *        VMRPC_AUDIT_SEQ_MAX
 *
 * Names that do not fit are counted in "more".
 *
 * Returns: its length
 */
size_t vmrpc_audit_format(const VmrpcAuditEntry *entry, const char *who,
                          char *text, size_t size);

#endif /* HW_VMRPC_AUDIT_LINE_H */
