/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handshakes with proxies: what is sent, and replies cut at every octet */

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "hw/vmrpc/via/handshake.h"

#define NAME "www.example.com"

static const VmrpcViaProxy socks = { .kind = VMRPC_VIA_SOCKS5 };
static const VmrpcViaProxy socks_secret = {
    .kind = VMRPC_VIA_SOCKS5, .user = "alice", .password = "s3cret",
};
static const VmrpcViaProxy http = { .kind = VMRPC_VIA_HTTP };
static const VmrpcViaProxy http_secret = {
    .kind = VMRPC_VIA_HTTP, .user = "alice", .password = "s3cret",
};

static VmrpcViaTarget named(void)
{
    return (VmrpcViaTarget) { .name = NAME, .port = 443 };
}

static VmrpcViaTarget address(const char *text)
{
    VmrpcViaTarget target = { .port = 8443 };

    g_assert_cmpint(inet_pton(AF_INET6, text, &target.addr6), ==, 1);
    return target;
}

/* A question of the client, and the octets that answer it. */
typedef struct Exchange {
    const char *question;
    size_t question_len;
    const char *answer;
    size_t answer_len;
} Exchange;

#define OCTETS(text) (text), sizeof(text) - 1

typedef struct Case {
    const char *name;
    const VmrpcViaProxy *proxy;
    VmrpcViaTarget (*target)(void);
    Exchange exchange[4];       /* one without a question ends the list */
    int error;                  /* 0: it is open */
} Case;

static VmrpcViaTarget ipv6(void)
{
    return address("2001:db8::5");
}

static VmrpcViaTarget ipv4(void)
{
    return address("::ffff:192.0.2.1");
}

#define ASK_NAME "\5\1\0\3\17" NAME "\1\273"
#define BOUND4 "\0\1\300\0\2\5\37\220"

static const Case cases[] = {
    {
        "socks/name", &socks, named,
        { { OCTETS("\5\1\0"), OCTETS("\5\0") },
          { OCTETS(ASK_NAME), OCTETS("\5\0" BOUND4) } }, 0,
    }, {
        "socks/ipv6", &socks, ipv6,
        { { OCTETS("\5\1\0"), OCTETS("\5\0") },
          { OCTETS("\5\1\0\4\x20\1\r\xb8\0\0\0\0\0\0\0\0\0\0\0\5\x20\xfb"),
            OCTETS("\5\0\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0") } }, 0,
    }, {
        "socks/ipv4-bound-to-name", &socks, ipv4,
        { { OCTETS("\5\1\0"), OCTETS("\5\0") },
          { OCTETS("\5\1\0\1\300\0\2\1\x20\xfb"),
            OCTETS("\5\0\0\3\3abc\0\1") } }, 0,
    }, {
        "socks/bound-to-empty-name", &socks, named,
        { { OCTETS("\5\1\0"), OCTETS("\5\0") },
          { OCTETS(ASK_NAME), OCTETS("\5\0\0\3\0\0\1") } }, 0,
    }, {
        "socks/secret", &socks_secret, named,
        { { OCTETS("\5\1\2"), OCTETS("\5\2") },
          { OCTETS("\1\5alice\6s3cret"), OCTETS("\1\0") },
          { OCTETS(ASK_NAME), OCTETS("\5\0" BOUND4) } }, 0,
    }, {
        "socks/wrong-secret", &socks_secret, named,
        { { OCTETS("\5\1\2"), OCTETS("\5\2") },
          { OCTETS("\1\5alice\6s3cret"), OCTETS("\1\1") } }, -EACCES,
    }, {
        /* A proxy cannot have the secret left out. */
        "socks/secret-declined", &socks_secret, named,
        { { OCTETS("\5\1\2"), OCTETS("\5\0") } }, -EPROTO,
    }, {
        "socks/secret-demanded", &socks, named,
        { { OCTETS("\5\1\0"), OCTETS("\5\377") } }, -EACCES,
    }, {
        "socks/method-not-offered", &socks, named,
        { { OCTETS("\5\1\0"), OCTETS("\5\2") } }, -EPROTO,
    }, {
        "socks/4", &socks, named,
        { { OCTETS("\5\1\0"), OCTETS("\4\0") } }, -EPROTO,
    }, {
        "socks/ruleset", &socks, named,
        { { OCTETS("\5\1\0"), OCTETS("\5\0") },
          { OCTETS(ASK_NAME), OCTETS("\5\2\0\1\0") } }, -EACCES,
    }, {
        "socks/refused", &socks, named,
        { { OCTETS("\5\1\0"), OCTETS("\5\0") },
          { OCTETS(ASK_NAME), OCTETS("\5\5\0\1\0") } }, -ECONNREFUSED,
    }, {
        "socks/no-network", &socks, named,
        { { OCTETS("\5\1\0"), OCTETS("\5\0") },
          { OCTETS(ASK_NAME), OCTETS("\5\3\0\1\0") } }, -ENETUNREACH,
    }, {
        "socks/no-host", &socks, named,
        { { OCTETS("\5\1\0"), OCTETS("\5\0") },
          { OCTETS(ASK_NAME), OCTETS("\5\4\0\1\0") } }, -EHOSTUNREACH,
    }, {
        "socks/address-type", &socks, named,
        { { OCTETS("\5\1\0"), OCTETS("\5\0") },
          { OCTETS(ASK_NAME), OCTETS("\5\0\0\2\0") } }, -EPROTO,
    }, {
        "http/name", &http, named,
        { { OCTETS("CONNECT " NAME ":443 HTTP/1.1\r\nHost: " NAME ":443\r\n"
                   "\r\n"),
            OCTETS("HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n") },
        }, 0,
    }, {
        "http/ipv6", &http, ipv6,
        { { OCTETS("CONNECT [2001:db8::5]:8443 HTTP/1.1\r\n"
                   "Host: [2001:db8::5]:8443\r\n\r\n"),
            OCTETS("HTTP/1.0 200\r\n\r\n") } }, 0,
    }, {
        "http/ipv4-bare-lf", &http, ipv4,
        { { OCTETS("CONNECT 192.0.2.1:8443 HTTP/1.1\r\n"
                   "Host: 192.0.2.1:8443\r\n\r\n"),
            OCTETS("HTTP/1.1 204 x\nA: b\n\n") } }, 0,
    }, {
        "http/secret", &http_secret, named,
        { { OCTETS("CONNECT " NAME ":443 HTTP/1.1\r\nHost: " NAME ":443\r\n"
                   "Proxy-Authorization: Basic YWxpY2U6czNjcmV0\r\n\r\n"),
            OCTETS("HTTP/1.1 200 OK\r\n\r\n") } }, 0,
    }, {
        "http/early-hints", &http, named,
        { { OCTETS("CONNECT " NAME ":443 HTTP/1.1\r\nHost: " NAME ":443\r\n"
                   "\r\n"),
            OCTETS("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
                   "HTTP/1.1 200 OK\r\n\r\n") } }, 0,
    }, {
        "http/407", &http, named,
        { { OCTETS("CONNECT " NAME ":443 HTTP/1.1\r\nHost: " NAME ":443\r\n"
                   "\r\n"), OCTETS("HTTP/1.1 407") } }, -EACCES,
    }, {
        "http/504", &http, named,
        { { OCTETS("CONNECT " NAME ":443 HTTP/1.1\r\nHost: " NAME ":443\r\n"
                   "\r\n"), OCTETS("HTTP/1.1 504") } }, -ETIMEDOUT,
    }, {
        "http/502", &http, named,
        { { OCTETS("CONNECT " NAME ":443 HTTP/1.1\r\nHost: " NAME ":443\r\n"
                   "\r\n"), OCTETS("HTTP/1.1 502") } }, -EHOSTUNREACH,
    }, {
        "http/not-http", &http, named,
        { { OCTETS("CONNECT " NAME ":443 HTTP/1.1\r\nHost: " NAME ":443\r\n"
                   "\r\n"), OCTETS("SSH-2.0-Open") } }, -EPROTO,
    },
};

/* Sends the question in pieces of @piece octets, and checks it. */
static void ask(VmrpcVia *via, const Exchange *x, size_t piece)
{
    g_autoptr(GByteArray) sent = g_byte_array_new();
    const uint8_t *data;
    size_t len;

    for (;;) {
        data = vmrpc_via_to_send(via, &len);
        if (!len) {
            break;
        }
        len = MIN(len, piece);
        g_byte_array_append(sent, data, len);
        vmrpc_via_sent(via, len);
    }
    g_assert_cmpmem(sent->data, sent->len, x->question, x->question_len);
}

/* Feeds the answer with @behind after it, first @cut octets of it. */
static void answer(VmrpcVia *via, const Exchange *x, size_t cut,
                   const char *behind)
{
    g_autofree char *all = g_malloc(x->answer_len + strlen(behind));
    size_t total = x->answer_len + strlen(behind), taken = 0;

    memcpy(all, x->answer, x->answer_len);
    memcpy(all + x->answer_len, behind, strlen(behind));
    if (cut) {
        taken = vmrpc_via_feed(via, (uint8_t *)all, cut);
        g_assert_cmpuint(taken, ==, cut);
    }
    if (taken < total && vmrpc_via_state(via) == VMRPC_VIA_SHAKING) {
        taken += vmrpc_via_feed(via, (uint8_t *)all + taken, total - taken);
    }
    g_assert_cmpuint(taken, ==, x->answer_len);
}

static void test_case(const void *opaque)
{
    const Case *c = opaque;
    VmrpcViaTarget target = c->target();

    for (size_t cut = 0; cut < 80; cut++) {
        VmrpcVia via;

        vmrpc_via_start(&via, c->proxy, &target);
        for (const Exchange *x = c->exchange; x->question; x++) {
            g_assert_cmpint(vmrpc_via_state(&via), ==, VMRPC_VIA_SHAKING);
            ask(&via, x, cut ? cut : SIZE_MAX);
            answer(&via, x, MIN(cut, x->answer_len),
                   x[1].question ? "" : "early data");
        }
        g_assert_cmpint(vmrpc_via_state(&via), ==,
                        c->error ? VMRPC_VIA_FAILED : VMRPC_VIA_OPEN);
        g_assert_cmpint(vmrpc_via_error(&via), ==, c->error);
    }
}

/* The proxy goes away after any octet of its answer. */
static void test_gone(void)
{
    for (const Case *c = cases; c < cases + G_N_ELEMENTS(cases); c++) {
        VmrpcViaTarget target = c->target();
        const Exchange *x = &c->exchange[0];

        for (size_t cut = 0; cut < x->answer_len; cut++) {
            VmrpcVia via;

            vmrpc_via_start(&via, c->proxy, &target);
            ask(&via, x, SIZE_MAX);
            if (cut) {
                vmrpc_via_feed(&via, (const uint8_t *)x->answer, cut);
            }
            vmrpc_via_feed(&via, NULL, 0);
            g_assert_cmpint(vmrpc_via_error(&via), ==, -ECONNRESET);
        }
    }
}

/* An answer before the question is nobody's. */
static void test_too_early(void)
{
    VmrpcViaTarget target = named();
    VmrpcVia via;
    size_t len;

    vmrpc_via_start(&via, &socks, &target);
    g_assert_cmpuint(vmrpc_via_feed(&via, (const uint8_t *)"\5\0", 2), ==, 0);
    vmrpc_via_to_send(&via, &len);
    vmrpc_via_sent(&via, len);
    g_assert_cmpuint(vmrpc_via_feed(&via, (const uint8_t *)"\5\0\5\0", 4),
                     ==, 2);
}

static void test_endless_head(void)
{
    VmrpcViaTarget target = named();
    size_t len, taken = 0;
    VmrpcVia via;

    vmrpc_via_start(&via, &http, &target);
    vmrpc_via_to_send(&via, &len);
    vmrpc_via_sent(&via, len);
    taken = vmrpc_via_feed(&via, (const uint8_t *)OCTETS("HTTP/1.1 200 "));
    while (vmrpc_via_state(&via) == VMRPC_VIA_SHAKING) {
        taken += vmrpc_via_feed(&via, (const uint8_t *)"a: b\r\n", 6);
    }
    g_assert_cmpint(vmrpc_via_error(&via), ==, -EPROTO);
    g_assert_cmpuint(taken, <=, VMRPC_VIA_HEAD_MAX);
}

static void test_secret(void)
{
    g_autofree char *longest = g_strnfill(VMRPC_VIA_SECRET_MAX, 'x');
    g_autofree char *both = g_strdup_printf("%s:%s", longest, longest);
    g_autofree char *more = g_strdup_printf("%sx:y", longest);
    char *user = NULL, *password = NULL;

    g_assert_true(vmrpc_via_read_secret("alice:a:b c\nrest", &user,
                                        &password));
    g_assert_cmpstr(user, ==, "alice");
    g_assert_cmpstr(password, ==, "a:b c");
    g_clear_pointer(&user, g_free);
    g_clear_pointer(&password, g_free);
    g_assert_true(vmrpc_via_read_secret(both, &user, &password));
    g_clear_pointer(&user, g_free);
    g_clear_pointer(&password, g_free);

    g_assert_false(vmrpc_via_read_secret(more, &user, &password));
    g_assert_false(vmrpc_via_read_secret("alice", &user, &password));
    g_assert_false(vmrpc_via_read_secret(":x", &user, &password));
    g_assert_false(vmrpc_via_read_secret("x:", &user, &password));
    g_assert_false(vmrpc_via_read_secret("x\n:y", &user, &password));
    g_assert_false(vmrpc_via_read_secret("x:y\r\nA: b", &user, &password));
    g_assert_null(user);
}

/* The longest messages have room. */
static void test_longest(void)
{
    g_autofree char *text = g_strnfill(VMRPC_VIA_SECRET_MAX, 'x');
    g_autofree char *name = g_strnfill(VMRPC_VIA_NAME_MAX, 'n');
    VmrpcViaTarget target = { .name = name, .port = 65535 };

    for (int kind = VMRPC_VIA_SOCKS5; kind <= VMRPC_VIA_HTTP; kind++) {
        VmrpcViaProxy proxy = { kind, text, text };
        VmrpcVia via;
        size_t len;

        vmrpc_via_start(&via, &proxy, &target);
        vmrpc_via_to_send(&via, &len);
        vmrpc_via_sent(&via, len);
        if (kind == VMRPC_VIA_SOCKS5) {
            vmrpc_via_feed(&via, (const uint8_t *)"\5\2", 2);
            vmrpc_via_to_send(&via, &len);
            g_assert_cmpuint(len, ==, 3 + 2 * VMRPC_VIA_SECRET_MAX);
            vmrpc_via_sent(&via, len);
            vmrpc_via_feed(&via, (const uint8_t *)"\1\0", 2);
            vmrpc_via_to_send(&via, &len);
            g_assert_cmpuint(len, ==, 7 + VMRPC_VIA_NAME_MAX);
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (const Case *c = cases; c < cases + G_N_ELEMENTS(cases); c++) {
        g_autofree char *path = g_strconcat("/vmrpc/via/", c->name, NULL);

        g_test_add_data_func(path, c, test_case);
    }
    g_test_add_func("/vmrpc/via/gone", test_gone);
    g_test_add_func("/vmrpc/via/too-early", test_too_early);
    g_test_add_func("/vmrpc/via/endless-head", test_endless_head);
    g_test_add_func("/vmrpc/via/secret", test_secret);
    g_test_add_func("/vmrpc/via/longest", test_longest);
    return g_test_run();
}
