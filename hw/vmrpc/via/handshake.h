/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A client's part of SOCKS 5 (RFC 1928, RFC 1929) and of HTTP CONNECT
 * (RFC 9110 section 9.3.6)
 *
 * The caller connects to the proxy and then moves octets:
 *
 *   vmrpc_via_start(&via, &proxy, &target);
 *   while (vmrpc_via_state(&via) == VMRPC_VIA_SHAKING) {
 *       data = vmrpc_via_to_send(&via, &len);
 *       if (len) { n = send(data, len); vmrpc_via_sent(&via, n); }
 *       else { n = peek(buf); n = vmrpc_via_feed(&via, buf, n); drop(n); }
 *   }
 *
 * It looks at what has come (MSG_PEEK) and drops only what feed() has taken:
 * the octets behind the reply are the stream's.
 *
 * No sockets, no allocation.
 */
#ifndef HW_VMRPC_VIA_HANDSHAKE_H
#define HW_VMRPC_VIA_HANDSHAKE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <glib.h>

/* Octets of a name, without a dot at the end (RFC 1035 section 3.1). */
#define VMRPC_VIA_NAME_MAX      253

/* Octets of the user and of the password (RFC 1929 section 2). */
#define VMRPC_VIA_SECRET_MAX    255

/* The head of a proxy's reply to CONNECT may have so many octets. */
#define VMRPC_VIA_HEAD_MAX      8192

/* Room for each message: a CONNECT with name, twice, and secret in Base64. */
#define VMRPC_VIA_MESSAGE_MAX   1536

typedef enum VmrpcViaKind {
    VMRPC_VIA_SOCKS5,
    VMRPC_VIA_HTTP,
} VmrpcViaKind;

/* How to greet a proxy. */
typedef struct VmrpcViaProxy {
    VmrpcViaKind kind;
    const char *user;           /* NULL: without a secret */
    const char *password;
} VmrpcViaProxy;

/* Where the proxy shall connect to. */
typedef struct VmrpcViaTarget {
    const char *name;           /* NULL: addr6 */
    struct in6_addr addr6;      /* IPv4 as ::ffff:192.0.2.1 */
    uint16_t port;              /* host byte order */
} VmrpcViaTarget;

typedef enum VmrpcViaState {
    VMRPC_VIA_SHAKING,
    VMRPC_VIA_OPEN,             /* the stream is the target's */
    VMRPC_VIA_FAILED,           /* vmrpc_via_error() */
} VmrpcViaState;

/* What is expected from the proxy next. */
typedef enum VmrpcViaStep {
    VMRPC_VIA_METHOD,           /* SOCKS 5: the method that it has chosen */
    VMRPC_VIA_SECRET,           /* the verdict on the secret */
    VMRPC_VIA_REPLY,            /* the reply, up to the length of its address */
    VMRPC_VIA_BOUND,            /* the rest of it */
    VMRPC_VIA_STATUS,           /* HTTP: the status line */
    VMRPC_VIA_HEAD,             /* the rest of the head */
} VmrpcViaStep;

/* The caller embeds it and does not look inside. */
typedef struct VmrpcVia {
    VmrpcViaState state;
    VmrpcViaStep step;
    int error;                  /* negative errno */
    uint16_t out_len, out_done;
    uint16_t out2_len;          /* SOCKS 5: the request, behind a secret */
    uint8_t in_len;
    uint8_t in[16];             /* what has come of a short message */
    uint16_t wants;             /* octets of it; BOUND: that are left */
    uint32_t head_len;
    bool line_is_empty;         /* so far */
    uint8_t out[VMRPC_VIA_MESSAGE_MAX];
    uint8_t out2[4 + 1 + VMRPC_VIA_NAME_MAX + 2];
} VmrpcVia;

/**
 * vmrpc_via_start: begins a handshake
 * @proxy: user and password have 1 to VMRPC_VIA_SECRET_MAX octets, the user no
 *         ':' for HTTP (vmrpc_via_check_secret())
 * @target: copied; the name has 1 to VMRPC_VIA_NAME_MAX octets: letters,
 *          digits, '-', '_' and dots
 */
void vmrpc_via_start(VmrpcVia *via, const VmrpcViaProxy *proxy,
                     const VmrpcViaTarget *target);

/**
 * vmrpc_via_read_secret: takes "USER:PASSWORD" apart
 * @text: ends at the first newline, if it has one
 * @user, @password: allocated; untouched if the result is false
 *
 * Returns: false if there is no ':', or a part is empty or too long, or has
 * control octets.
 */
bool vmrpc_via_read_secret(const char *text, char **user, char **password);

/** vmrpc_via_state: how the handshake stands */
static inline VmrpcViaState vmrpc_via_state(const VmrpcVia *via)
{
    return via->state;
}

/**
 * vmrpc_via_error: why it failed
 *
 * Returns: a negative errno for the guest's connect(); 0 unless it has FAILED.
 * -EACCES: the proxy refuses this destination or the secret; -EPROTO: it does
 * not speak its protocol.
 */
int vmrpc_via_error(const VmrpcVia *via);

/**
 * vmrpc_via_to_send: what the proxy shall get now
 * @len: octets; 0: nothing before it has answered
 */
const uint8_t *vmrpc_via_to_send(const VmrpcVia *via, size_t *len);

/** vmrpc_via_sent: @len octets of vmrpc_via_to_send() are sent */
void vmrpc_via_sent(VmrpcVia *via, size_t len);

/**
 * vmrpc_via_feed: octets from the proxy, as they come
 * @len: 0: the end of the stream, a failure
 *
 * Returns: how many of them belonged to the handshake.
 */
size_t vmrpc_via_feed(VmrpcVia *via, const uint8_t *data, size_t len);

#endif /* HW_VMRPC_VIA_HANDSHAKE_H */
