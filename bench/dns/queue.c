/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cost of an answer on a guest's queue, from a zone image
 *
 *     dns-queue IMAGE NAMES ROUNDS
 *
 * The server of virtio-vmrpc runs with the guest of the unit tests, without
 * virtio and an emulator.  The guest asks its resolver for the A records of
 * n0.vm.test to n(NAMES - 1).vm.test, which have AAAA records, and reads each
 * answer: two calls ("zone").  For comparison, two calls only query a socket
 * ("idle").  Each line is one round: nanoseconds of processor time for both
 * calls.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "net/dns/wire/wire.h"
#include "tests/fixtures/server-fixture.h"

#define ASKED       (1u << 16)
#define NAMES_MAX   4096
#define REPLY_MAX   512
#define ADDRESS_LEN 16      /* an A record, with a pointer for its name */

typedef struct Query {
    uint8_t message[DNS_QUERY_MAX];
    size_t len;
} Query;

typedef struct Guest {
    Fx *fx;
    struct vmrpc_req send, take, look;
    Query query[NAMES_MAX];
    unsigned names;
} Guest;

typedef struct Taken {
    struct vmrpc_resp resp;
    uint8_t data[REPLY_MAX];
} Taken;

static void need(bool is_so, const char *what)
{
    if (!is_so) {
        fprintf(stderr, "dns-queue: %s\n", what);
        exit(1);
    }
}

static void make_query(Query *query, unsigned number)
{
    DnsQuestion question = { .type = DNS_TYPE_A, .qclass = DNS_CLASS_IN };
    char text[32];

    snprintf(text, sizeof(text), "n%u.vm.test", number);
    need(!dns_name_from_text(&question.name, text), "no name");
    query->len = dns_query_build(query->message, &question, DNS_FLAG_RD,
                                 false);
}

static void guest_init(Guest *guest, const char *image, unsigned names)
{
    const char *const zones[] = { image, NULL };

    guest->fx = fx_new(&(FxOptions) {
        .zones = zones, .policy = "allow host\nallow ::1\n",
    });
    guest->fx->flags = 0;
    fx_ok(fx_socket(guest->fx, 0, 1, SOCK_DGRAM));
    fx_ok(fx_addr_op(guest->fx, VMRPC_CONNECT, 0, guest->fx->resolver4, 53));
    guest->send = fx_req(guest->fx, VMRPC_SENDMSG, 0);
    guest->take = fx_req(guest->fx, VMRPC_RECVMSG, 0);
    guest->look = fx_req(guest->fx, VMRPC_GETPEERNAME, 0);
    guest->names = names;
    for (unsigned i = 0; i < names; i++) {
        make_query(&guest->query[i], i);
    }
}

static void send_message(Guest *guest, const void *message, size_t len)
{
    struct iovec out[] = {
        { &guest->send, sizeof(guest->send) }, { (void *)message, len },
    };
    struct vmrpc_resp resp;
    struct iovec in = { &resp, sizeof(resp) };

    vmrpc_server_call(guest->fx->srv, out, 2, &in, 1, false);
    need(!resp.error, "a query cannot be sent");
}

/* Returns: the length of the answer, 0 if there is none. */
static size_t take(Guest *guest, Taken *taken)
{
    struct iovec out = { &guest->take, sizeof(guest->take) };
    struct iovec in[] = {
        { &taken->resp, sizeof(taken->resp) },
        { taken->data, sizeof(taken->data) },
    };

    vmrpc_server_call(guest->fx->srv, &out, 1, in, 2, false);
    return taken->resp.error ? 0 : GUINT32_FROM_LE(taken->resp.value);
}

static void ask(Guest *guest, unsigned number)
{
    const Query *query = &guest->query[number % guest->names];
    Taken taken;

    send_message(guest, query->message, query->len);
    need(take(guest, &taken) >= query->len + ADDRESS_LEN, "no answer");
    need(!(taken.data[3] & 15) && taken.data[7] == 1, "no A record");
}

static void idle(Guest *guest, unsigned number)
{
    struct iovec out = { &guest->look, sizeof(guest->look) };

    for (unsigned i = 0; i < 2; i++) {
        struct vmrpc_resp resp;
        struct iovec in = { &resp, sizeof(resp) };

        vmrpc_server_call(guest->fx->srv, &out, 1, &in, 1, false);
        need(!resp.error, "the socket has no peer");
    }
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}

static void measure(Guest *guest, const char *what,
                    void (*once)(Guest *guest, unsigned number))
{
    uint64_t began = now_ns();

    for (unsigned i = 0; i < ASKED; i++) {
        once(guest, i);
    }
    printf("%s %.1f\n", what, (double)(now_ns() - began) / ASKED);
}

int main(int argc, char **argv)
{
    static Guest guest;
    unsigned names = argc == 4 ? atoi(argv[2]) : 0;

    if (!names || names > NAMES_MAX) {
        fprintf(stderr, "usage: dns-queue IMAGE NAMES ROUNDS\n");
        return 2;
    }
    fx_init();
    guest_init(&guest, argv[1], names);
    for (unsigned i = 0; i < names; i++) {
        ask(&guest, i);
    }
    for (int round = 0; round < atoi(argv[3]); round++) {
        measure(&guest, "zone", ask);
        measure(&guest, "idle", idle);
    }
    fx_free(guest.fx);
    return 0;
}
