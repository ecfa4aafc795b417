/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cost of confinement for the thread that executes a guest's call: QEMU's
 * own code, without sockets
 *
 *     confine-core ROUNDS FILE
 *
 * Prints a line of JSON a case, with the nanoseconds of each round.  The audit
 * log is written to FILE.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "hw/vmrpc/audit/log.h"
#include "hw/vmrpc/policy/policy-parse.h"
#include "hw/vmrpc/said/head.h"
#include "hw/vmrpc/said/hello.h"
#include "hw/vmrpc/said/initial.h"
#include "tests/fixtures/hello-fixture.h"
#include "tests/fixtures/quic-fixture.h"

#define REPEAT          20000
#define ROUNDS_MAX      1000
/* With the key share of a post-quantum exchange, as browsers send it */
#define SHARE           1400
#define NAME            "www.example.com"

static const char policy_text[] =
    "proxy corp http 2001:db8::3128 3128\n"
    "allow *.example.com tcp 443 tls sent 1G/h\n"
    "allow 2001:db8:1::/48 tcp 80\n"
    "default deny\n";

static const char request[] =
    "GET /a/path/of/some/length?with=a&query=in&it=too HTTP/1.1\r\n"
    "Host: " NAME "\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n"
    "Accept-Encoding: deflate, gzip, br, zstd\r\nAccept-Language: en\r\n"
    "Cookie: session=0123456789abcdef0123456789abcdef0123456789abcdef\r\n"
    "Cache-Control: no-cache\r\nPragma: no-cache\r\n\r\n";

static GByteArray *hello, *initial;
static VmrpcPolicy *policy;
static VmrpcAudit *audit;
static VmrpcHourly *budget;
static int log_fd;

static void must(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "confine-core: %s\n", what);
        exit(1);
    }
}

/* --- cases: each returns when it has done its work once ------------------- */

/* Copy, look, and what the policy says to the name. */
static void say_hello(void)
{
    uint8_t copy[VMRPC_SAID_KEEP_MAX];
    const char *names[] = { NAME };
    VmrpcDest dest = { .family = AF_INET6, .port = 443, .proto = IPPROTO_TCP,
                       .names = names, .num_names = 1 };
    VmrpcHello look = { };
    VmrpcVerdict why;
    VmrpcSaid said;
    size_t pass;

    memcpy(copy, hello->data, hello->len);
    must(vmrpc_hello_look(&look, copy, hello->len, &said, &pass) ==
         VMRPC_SAID_SAID, "no hello");
    inet_pton(AF_INET6, "2001:db8:7::1", &dest.addr6);
    names[0] = said.name;
    must(vmrpc_policy_check(policy, &dest, &why) == 0, "refused");
}

static void say_request(void)
{
    uint8_t copy[sizeof(request)];
    VmrpcHead look = { };
    VmrpcSaid said;
    size_t pass;

    memcpy(copy, request, sizeof(request) - 1);
    must(vmrpc_head_look(&look, copy, sizeof(request) - 1, &said, &pass) ==
         VMRPC_SAID_SAID, "no request");
}

static void say_initial(void)
{
    VmrpcInitial *look = vmrpc_initial_new();
    VmrpcSaid said;

    must(vmrpc_initial_look(look, initial->data, initial->len, &said) ==
         VMRPC_SAID_SAID, "no Initial");
    vmrpc_initial_free(look);
}

static void spend(void)
{
    uint64_t given = vmrpc_hourly_take(budget, 1000,
                                       base_clock(CLOCK_MONOTONIC_COARSE) /
                                       1000);

    vmrpc_hourly_give_back(budget, 1000 - given);
}

static bool write_line(void)
{
    static const char *const asked[] = { NAME };
    struct sockaddr_storage peer = { };
    struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&peer;
    VmrpcAuditEntry entry = {
        .event = VMRPC_AUDIT_OPEN, .time_us = g_get_real_time(),
        .proto = IPPROTO_TCP, .peer = &peer, .asked = asked, .asked_num = 1,
        .said = NAME, .alpn = "h2", .verdict = "allow", .line = 7,
        .policy = "5f1c9a02", .has_socket = true, .socket = 42,
    };

    sin6->sin6_family = AF_INET6;
    inet_pton(AF_INET6, "2001:db8:80::80", &sin6->sin6_addr);
    sin6->sin6_port = htons(443);
    return vmrpc_audit_write(audit, &entry);
}

static void drain(void)
{
    const char *text;
    size_t len;

    while ((len = vmrpc_audit_peek(audit, 0, &text))) {
        must(write(log_fd, text, len) == (ssize_t)len, "the log is full");
        vmrpc_audit_consume(audit, len);
    }
}

/* --- the clock ------------------------------------------------------------- */

static double now_ns(void)
{
    return base_clock(CLOCK_MONOTONIC);
}

static double repeat(void (*work)(void))
{
    double begin = now_ns();

    for (int i = 0; i < REPEAT; i++) {
        work();
    }
    return (now_ns() - begin) / REPEAT;
}

static void nothing(void *opaque)
{
}

/* A line on the thread that writes it; the reader's time does not count. */
static double lines_of_caller(void (*unused)(void))
{
    double ns = 0;

    for (int i = 0; i < REPEAT; i += 1000) {
        double begin = now_ns();

        for (int n = 0; n < 1000; n++) {
            must(write_line(), "a line is lost");
        }
        ns += now_ns() - begin;
        drain();
    }
    return ns / REPEAT;
}

/* From the call to the file, in one thread. */
static double lines_to_file(void (*unused)(void))
{
    double begin = now_ns();

    for (int i = 0; i < REPEAT; i += 1000) {
        for (int n = 0; n < 1000; n++) {
            must(write_line(), "a line is lost");
        }
        drain();
    }
    must(ftruncate(log_fd, 0) == 0 && lseek(log_fd, 0, SEEK_SET) == 0, "file");
    return (now_ns() - begin) / REPEAT;
}

static void begin(const char *path)
{
    static const VmrpcAuditConfig config = { .vm = "web", .dev = "vmrpc0",
                                             .sockets = 16384,
                                             .kick = nothing };
    const QuicPacket packet = { .id = "8394c8f03e515708" };
    HelloSpec spec = { .name = NAME, .alpn = "h2", .share = SHARE };
    g_autoptr(GByteArray) message = NULL;
    g_autoptr(GByteArray) frames = g_byte_array_new();
    g_autoptr(GError) err = NULL;

    hello = g_byte_array_new();
    hello_add(hello, &spec, 16384);
    spec.share = 600;           /* it fits into one datagram */
    message = hello_message(&spec);
    quic_add_crypto(frames, 0, message->data, message->len);
    initial = g_byte_array_new();
    quic_add_initial(initial, &packet, frames);
    policy = vmrpc_policy_parse(policy_text, strlen(policy_text), "policy",
                                &err);
    must(policy, err ? err->message : "no policy");
    audit = vmrpc_audit_new(&config);
    budget = vmrpc_hourly_new(UINT64_C(1) << 50);
    log_fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    must(log_fd >= 0, path);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        double (*measure)(void (*work)(void));
        void (*work)(void);
    } cases[] = {
        { "hello", repeat, say_hello },
        { "request", repeat, say_request },
        { "initial", repeat, say_initial },
        { "budget", repeat, spend },
        { "line", lines_of_caller, NULL },
        { "line-to-file", lines_to_file, NULL },
    };
    unsigned long rounds = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;

    if (rounds == 0 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: confine-core ROUNDS FILE\n");
        return 2;
    }
    begin(argv[2]);
    for (size_t c = 0; c < G_N_ELEMENTS(cases); c++) {
        cases[c].measure(cases[c].work);
        printf("{\"what\": \"%s\", \"ns\": [", cases[c].name);
        for (unsigned long i = 0; i < rounds; i++) {
            printf("%s%.1f", i ? ", " : "", cases[c].measure(cases[c].work));
        }
        printf("]}\n");
    }
    printf("{\"what\": \"sizes\", \"ns\": [%u, %zu, %u]}\n", hello->len,
           sizeof(request) - 1, initial->len);
    return 0;
}
