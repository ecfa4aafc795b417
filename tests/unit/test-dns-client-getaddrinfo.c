/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Without servers, the blocking interface behaves as the C library does. */

#include <glib.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>

#include "vmmnet/dns.h"

static char *text_of(int ret, const struct addrinfo *res)
{
    GString *s = g_string_new(NULL);

    g_string_printf(s, "%d", ret);
    for (; !ret && res; res = res->ai_next) {
        g_string_append_printf(s, "; %d %d %d %s ", res->ai_family,
                               res->ai_socktype, res->ai_protocol,
                               res->ai_canonname ? res->ai_canonname : "-");
        for (size_t i = 0; i < res->ai_addrlen; i++) {
            g_string_append_printf(s, "%02x", ((uint8_t *)res->ai_addr)[i]);
        }
    }
    return g_string_free(s, FALSE);
}

static void compare(const char *node, const char *service,
                    const struct addrinfo *hints)
{
    struct addrinfo *ours = NULL, *theirs = NULL;
    g_autofree char *our_text = NULL, *their_text = NULL;
    int ret;

    ret = vmmnet_getaddrinfo(node, service, hints, &ours);
    our_text = text_of(ret, ours);
    if (!ret) {
        vmmnet_freeaddrinfo(ours);
    }
    ret = getaddrinfo(node, service, hints, &theirs);
    their_text = text_of(ret, theirs);
    if (!ret) {
        freeaddrinfo(theirs);
    }
    g_test_message("%s %s flags %x family %d type %d protocol %d", node,
                   service, hints->ai_flags, hints->ai_family,
                   hints->ai_socktype, hints->ai_protocol);
    g_assert_cmpstr(our_text, ==, their_text);
}

static void test_literals(void)
{
    static const char *const nodes[] = {
        "192.0.2.1", "127.1", "0x7f000001", "2001:db8::1", "fe80::1%lo",
        "::ffff:192.0.2.1", "::",
    };
    static const int flags[] = {
        AI_NUMERICHOST, AI_NUMERICHOST | AI_V4MAPPED,
        AI_NUMERICHOST | AI_CANONNAME,
        AI_NUMERICHOST | AI_V4MAPPED | AI_ALL, AI_NUMERICHOST | AI_PASSIVE,
    };
    static const int families[] = { AF_UNSPEC, AF_INET, AF_INET6 };
    static const int types[] = { 0, SOCK_STREAM, SOCK_DGRAM };

    for (size_t n = 0; n < G_N_ELEMENTS(nodes); n++) {
        for (size_t f = 0; f < G_N_ELEMENTS(flags); f++) {
            for (size_t a = 0; a < G_N_ELEMENTS(families); a++) {
                for (size_t t = 0; t < G_N_ELEMENTS(types); t++) {
                    struct addrinfo hints = {
                        .ai_flags = flags[f], .ai_family = families[a],
                        .ai_socktype = types[t],
                    };

                    compare(nodes[n], "80", &hints);
                    compare(nodes[n], NULL, &hints);
                }
            }
        }
    }
}

static void test_no_node(void)
{
    static const int flags[] = { 0, AI_PASSIVE };
    static const int families[] = { AF_INET, AF_INET6 };

    for (size_t f = 0; f < G_N_ELEMENTS(flags); f++) {
        for (size_t a = 0; a < G_N_ELEMENTS(families); a++) {
            struct addrinfo hints = {
                .ai_flags = flags[f], .ai_family = families[a],
                .ai_socktype = SOCK_STREAM,
            };

            compare(NULL, "443", &hints);
        }
    }
}

static void test_errors(void)
{
    struct addrinfo hints = { .ai_flags = AI_NUMERICHOST }, *none;

    /* The C library makes port 0 of it */
    g_assert_cmpint(vmmnet_getaddrinfo("192.0.2.1", "65536", &hints, &none),
                    ==, EAI_SERVICE);
    compare(NULL, NULL, &hints);
    compare("nobody", NULL, &hints);
    compare("192.0.2.256", NULL, &hints);
    hints.ai_family = AF_UNIX;
    compare("192.0.2.1", NULL, &hints);
    hints.ai_family = AF_UNSPEC;
    hints.ai_flags = 0x10000000;
    compare("192.0.2.1", NULL, &hints);
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    compare("192.0.2.1", "http", &hints);
    hints.ai_flags = AI_CANONNAME;
    compare(NULL, "80", &hints);
    hints.ai_flags = AI_NUMERICHOST;
    hints.ai_socktype = SOCK_PACKET;
    compare("192.0.2.1", "80", &hints);
}

static void test_kinds(void)
{
    static const int types[] = { 0, SOCK_STREAM, SOCK_DGRAM, SOCK_RAW,
                                 SOCK_SEQPACKET };
    static const int protocols[] = { 0, IPPROTO_TCP, IPPROTO_UDP,
                                     IPPROTO_SCTP, IPPROTO_ICMP };

    for (size_t t = 0; t < G_N_ELEMENTS(types); t++) {
        for (size_t p = 0; p < G_N_ELEMENTS(protocols); p++) {
            struct addrinfo hints = {
                .ai_flags = AI_NUMERICHOST, .ai_socktype = types[t],
                .ai_protocol = protocols[p],
            };

            compare("192.0.2.1", "80", &hints);
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns-client/getaddrinfo/literals", test_literals);
    g_test_add_func("/dns-client/getaddrinfo/no-node", test_no_node);
    g_test_add_func("/dns-client/getaddrinfo/errors", test_errors);
    g_test_add_func("/dns-client/getaddrinfo/kinds", test_kinds);
    return g_test_run();
}
