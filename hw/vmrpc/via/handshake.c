/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A client's part of SOCKS 5 and of HTTP CONNECT
 *
 * Theory of operation
 * ===================
 *
 * SOCKS 5 (RFC 1928) is three questions and answers of known lengths: which
 * method, with a secret its verdict (RFC 1929), and the request.  The client
 * offers one method only, so a proxy cannot make it leave the secret out.  HTTP
 * has one question, and an answer that ends with an empty line.
 *
 * The proxy is asked by name where the policy has matched a name: it resolves
 * the name itself, and the name that it logs and judges is the one that the
 * policy has judged.
 *
 * A proxy is no more trusted than a peer.  Of an answer only its status counts;
 * its address and its fields are skipped.  An answer has a bounded length, and
 * the octets behind it are left to the stream.
 */
#include "hw/vmrpc/via/handshake.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* RFC 1928 */
#define SOCKS_VERSION   5
#define SOCKS_CONNECT   1
#define SOCKS_IPV4      1
#define SOCKS_NAME      3
#define SOCKS_IPV6      4
#define METHOD_NONE     0
#define METHOD_SECRET   2
#define METHOD_REFUSED  0xff

/* RFC 1929 */
#define SECRET_VERSION  1

/* Octets of each answer, up to where its length is known */
#define METHOD_LEN      2
#define VERDICT_LEN     2
#define REPLY_LEN       5       /* with the first octet of the address */

/* "HTTP/1.1 200" */
#define STATUS_LEN      12

static void set_state(VmrpcVia *via, VmrpcViaState state, int error)
{
    via->state = state;
    via->error = error;
}

static void expect(VmrpcVia *via, VmrpcViaStep step, uint16_t octets)
{
    via->step = step;
    via->wants = octets;
    via->in_len = 0;
}

/* --- questions ---------------------------------------------------------- */

static size_t socks_request(uint8_t *out, const VmrpcViaTarget *target)
{
    uint8_t *p = out;

    *p++ = SOCKS_VERSION;
    *p++ = SOCKS_CONNECT;
    *p++ = 0;
    if (target->name) {
        size_t len = strlen(target->name);

        *p++ = SOCKS_NAME;
        *p++ = len;
        memcpy(p, target->name, len);
        p += len;
    } else if (IN6_IS_ADDR_V4MAPPED(&target->addr6)) {
        *p++ = SOCKS_IPV4;
        memcpy(p, &target->addr6.s6_addr[12], 4);
        p += 4;
    } else {
        *p++ = SOCKS_IPV6;
        memcpy(p, &target->addr6, 16);
        p += 16;
    }
    *p++ = target->port >> 8;
    *p++ = target->port;
    return p - out;
}

/* The secret follows at once: no other method was offered. */
static void start_socks(VmrpcVia *via, const VmrpcViaProxy *proxy,
                        const VmrpcViaTarget *target)
{
    uint8_t *p = via->out;

    *p++ = SOCKS_VERSION;
    *p++ = 1;
    *p++ = proxy->user ? METHOD_SECRET : METHOD_NONE;
    via->out_len = p - via->out;
    if (proxy->user) {
        size_t user = strlen(proxy->user), password = strlen(proxy->password);

        *p++ = SECRET_VERSION;
        *p++ = user;
        memcpy(p, proxy->user, user);
        p += user;
        *p++ = password;
        memcpy(p, proxy->password, password);
    }
    via->out2_len = socks_request(via->out2, target);
    expect(via, VMRPC_VIA_METHOD, METHOD_LEN);
}

static void start_http(VmrpcVia *via, const VmrpcViaProxy *proxy,
                       const VmrpcViaTarget *target)
{
    char host[VMRPC_VIA_NAME_MAX + 1 + sizeof(":65535")];
    char text[INET6_ADDRSTRLEN];
    g_autofree char *fields = NULL;

    if (target->name) {
        snprintf(host, sizeof(host), "%s:%u", target->name, target->port);
    } else if (IN6_IS_ADDR_V4MAPPED(&target->addr6)) {
        inet_ntop(AF_INET, &target->addr6.s6_addr[12], text, sizeof(text));
        snprintf(host, sizeof(host), "%s:%u", text, target->port);
    } else {
        inet_ntop(AF_INET6, &target->addr6, text, sizeof(text));
        snprintf(host, sizeof(host), "[%s]:%u", text, target->port);
    }
    if (proxy->user) {
        g_autofree char *secret = g_strdup_printf("%s:%s", proxy->user,
                                                  proxy->password);
        g_autofree char *base64 = g_base64_encode((const guchar *)secret,
                                                  strlen(secret));

        fields = g_strdup_printf("Proxy-Authorization: Basic %s\r\n", base64);
    }
    via->out_len = snprintf((char *)via->out, sizeof(via->out),
                            "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", host,
                            host, fields ?: "");
    g_assert(via->out_len < sizeof(via->out));
    expect(via, VMRPC_VIA_STATUS, STATUS_LEN);
}

void vmrpc_via_start(VmrpcVia *via, const VmrpcViaProxy *proxy,
                     const VmrpcViaTarget *target)
{
    memset(via, 0, offsetof(VmrpcVia, out));
    set_state(via, VMRPC_VIA_SHAKING, 0);
    if (proxy->kind == VMRPC_VIA_HTTP) {
        start_http(via, proxy, target);
    } else {
        start_socks(via, proxy, target);
    }
}

static bool is_secret(const char *from, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if ((uint8_t)from[i] < 0x20 || from[i] == 0x7f) {
            return false;
        }
    }
    return len && len <= VMRPC_VIA_SECRET_MAX;
}

bool vmrpc_via_read_secret(const char *text, char **user, char **password)
{
    size_t len = strcspn(text, "\n");
    const char *colon = memchr(text, ':', len);
    size_t user_len = colon ? colon - text : 0;
    size_t left = colon ? len - user_len - 1 : 0;

    if (!is_secret(text, user_len) || !is_secret(colon + 1, left)) {
        return false;
    }
    *user = g_strndup(text, user_len);
    *password = g_strndup(colon + 1, left);
    return true;
}

const uint8_t *vmrpc_via_to_send(const VmrpcVia *via, size_t *len)
{
    *len = via->out_len - via->out_done;
    return via->out + via->out_done;
}

void vmrpc_via_sent(VmrpcVia *via, size_t len)
{
    g_assert(via->out_done + len <= via->out_len);
    via->out_done += len;
}

/* --- answers ------------------------------------------------------------ */

static int error_of_reply(uint8_t reply)
{
    switch (reply) {
    case 2:                     /* not allowed by ruleset */
        return -EACCES;
    case 3:
        return -ENETUNREACH;
    case 5:
        return -ECONNREFUSED;
    case 8:                     /* address type not supported */
        return -EADDRNOTAVAIL;
    case 7:                     /* command not supported */
        return -EPROTO;
    default:                    /* host unreachable, TTL expired, a failure */
        return -EHOSTUNREACH;
    }
}

static int error_of_status(unsigned status)
{
    switch (status) {
    case 401:
    case 403:
    case 407:
    case 451:
        return -EACCES;
    case 408:
    case 504:
        return -ETIMEDOUT;
    default:
        return -EHOSTUNREACH;
    }
}

static void request(VmrpcVia *via)
{
    memcpy(via->out, via->out2, via->out2_len);
    via->out_len = via->out2_len;
    via->out_done = 0;
    expect(via, VMRPC_VIA_REPLY, REPLY_LEN);
}

static void on_method(VmrpcVia *via, uint8_t offered)
{
    if (via->in[0] != SOCKS_VERSION) {
        set_state(via, VMRPC_VIA_FAILED, -EPROTO);
    } else if (via->in[1] != offered) {
        set_state(via, VMRPC_VIA_FAILED, via->in[1] == METHOD_REFUSED
                                         ? -EACCES : -EPROTO);
    } else if (offered == METHOD_NONE) {
        request(via);
    } else {
        /* The secret lies behind the greeting. */
        via->out_len += 2 + via->out[4];
        via->out_len += 1 + via->out[via->out_len];
        expect(via, VMRPC_VIA_SECRET, VERDICT_LEN);
    }
}

static void on_reply(VmrpcVia *via)
{
    uint16_t left;

    if (via->in[0] != SOCKS_VERSION) {
        set_state(via, VMRPC_VIA_FAILED, -EPROTO);
        return;
    }
    if (via->in[1] != 0) {
        set_state(via, VMRPC_VIA_FAILED, error_of_reply(via->in[1]));
        return;
    }
    switch (via->in[3]) {       /* the first octet of the address is there */
    case SOCKS_IPV4:
        left = 3 + 2;
        break;
    case SOCKS_NAME:
        left = via->in[4] + 2;
        break;
    case SOCKS_IPV6:
        left = 15 + 2;
        break;
    default:
        set_state(via, VMRPC_VIA_FAILED, -EPROTO);
        return;
    }
    expect(via, VMRPC_VIA_BOUND, left);
}

static void on_status(VmrpcVia *via)
{
    const char *in = (const char *)via->in;
    unsigned status = 0;

    if (memcmp(in, "HTTP/1.", 7) != 0 || !g_ascii_isdigit(in[7]) ||
        in[8] != ' ') {
        set_state(via, VMRPC_VIA_FAILED, -EPROTO);
        return;
    }
    for (int i = 9; i < STATUS_LEN; i++) {
        if (!g_ascii_isdigit(in[i])) {
            set_state(via, VMRPC_VIA_FAILED, -EPROTO);
            return;
        }
        status = status * 10 + in[i] - '0';
    }
    /* RFC 9110 section 15.2: 1xx come before the answer. */
    if (status / 100 != 2 && status / 100 != 1) {
        set_state(via, VMRPC_VIA_FAILED, error_of_status(status));
        return;
    }
    via->line_is_empty = false;
    via->step = VMRPC_VIA_HEAD;
}

/* Returns how many octets it has taken. */
static size_t feed_short(VmrpcVia *via, const uint8_t *data, size_t len)
{
    size_t n = MIN(len, (size_t)(via->wants - via->in_len));

    memcpy(via->in + via->in_len, data, n);
    via->in_len += n;
    if (via->in_len < via->wants) {
        return n;
    }
    switch (via->step) {
    case VMRPC_VIA_METHOD:
        on_method(via, via->out[2]);
        break;
    case VMRPC_VIA_SECRET:
        if (via->in[0] != SECRET_VERSION || via->in[1] != 0) {
            set_state(via, VMRPC_VIA_FAILED,
                      via->in[0] == SECRET_VERSION ? -EACCES : -EPROTO);
        } else {
            request(via);
        }
        break;
    case VMRPC_VIA_REPLY:
        on_reply(via);
        break;
    default:
        via->head_len += n;
        on_status(via);
        break;
    }
    return n;
}

static size_t feed_bound(VmrpcVia *via, size_t len)
{
    size_t n = MIN(len, via->wants);

    via->wants -= n;
    if (!via->wants) {
        set_state(via, VMRPC_VIA_OPEN, 0);
    }
    return n;
}

/* An empty line ends the head; RFC 9112 section 2.2 allows a bare LF. */
static size_t feed_head(VmrpcVia *via, const uint8_t *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (++via->head_len > VMRPC_VIA_HEAD_MAX) {
            set_state(via, VMRPC_VIA_FAILED, -EPROTO);
            return i;
        }
        if (data[i] != '\n') {
            via->line_is_empty &= data[i] == '\r';
            continue;
        }
        if (via->line_is_empty) {
            if (via->in[9] == '1') {
                expect(via, VMRPC_VIA_STATUS, STATUS_LEN);
            } else {
                set_state(via, VMRPC_VIA_OPEN, 0);
            }
            return i + 1;
        }
        via->line_is_empty = true;
    }
    return len;
}

size_t vmrpc_via_feed(VmrpcVia *via, const uint8_t *data, size_t len)
{
    size_t done = 0;

    if (!len && via->state == VMRPC_VIA_SHAKING) {
        set_state(via, VMRPC_VIA_FAILED, -ECONNRESET);
    }
    /* An answer before its question has been sent is not one. */
    while (done < len && via->state == VMRPC_VIA_SHAKING &&
           via->out_done == via->out_len) {
        switch (via->step) {
        case VMRPC_VIA_BOUND:
            done += feed_bound(via, len - done);
            break;
        case VMRPC_VIA_HEAD:
            done += feed_head(via, data + done, len - done);
            break;
        default:
            done += feed_short(via, data + done, len - done);
            break;
        }
    }
    return done;
}

int vmrpc_via_error(const VmrpcVia *via)
{
    return via->state == VMRPC_VIA_FAILED ? via->error : 0;
}
