/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Socket server: flows of QUIC that must begin with a name that was asked
 *
 * The peer is on this host.  For the policy it is not: __wrap_*() below.
 */
#include "tests/fixtures/hello-fixture.h"
#include "tests/fixtures/quic-fixture.h"
#include "tests/fixtures/server-fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/udp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hw/vmrpc/peer/first-datagrams.h"
#include "hw/vmrpc/said/initial.h"
#include "hw/vmrpc/sock/state.h"
#include "hw/vmrpc/sock/timer.h"

#define NAME    "www.test"
#define OTHER   "other.test"
#define ID      "8394c8f03e515708"
#define ID_2    "aabbccddeeff0011"
#define POLICY  "allow www.test udp tls\n" \
                "deny other.test\n" \
                "allow *.test udp tls\n" \
                "default deny\n"

bool __wrap_vmrpc_route_is_local(VmrpcRoute *route, const struct sockaddr *dest,
                                 const struct sockaddr *source, int proto);
VmrpcSaidStep __real_vmrpc_initial_look(VmrpcInitial *initial,
                                        const uint8_t *datagram, size_t len,
                                        VmrpcSaid *said);
VmrpcSaidStep __wrap_vmrpc_initial_look(VmrpcInitial *initial,
                                        const uint8_t *datagram, size_t len,
                                        VmrpcSaid *said);

static GByteArray *scribbled;   /* the guest changes it during the call */

bool __wrap_vmrpc_route_is_local(VmrpcRoute *route, const struct sockaddr *dest,
                                 const struct sockaddr *source, int proto)
{
    return false;
}

VmrpcSaidStep __wrap_vmrpc_initial_look(VmrpcInitial *initial,
                                        const uint8_t *datagram, size_t len,
                                        VmrpcSaid *said)
{
    if (scribbled) {
        memset(scribbled->data, 'x', scribbled->len);
    }
    return __real_vmrpc_initial_look(initial, datagram, len, said);
}

typedef struct World {
    Fx *fx;
    int fd, second;             /* the peer's */
    uint16_t port, second_port;
} World;

static struct {
    unsigned refusals;
    char name[64], reason[32];
    unsigned port, line;
    bool has_socket;            /* for the audit log */
} traced;

static void trace_refused(void *opaque, const VmrpcRefusal *refusal)
{
    const World *w = opaque;

    traced.refusals++;
    traced.has_socket = w->fx->srv->judged;
    g_strlcpy(traced.name, refusal->name ?: "", sizeof(traced.name));
    g_strlcpy(traced.reason, refusal->reason, sizeof(traced.reason));
    traced.port = refusal->port;
    traced.line = refusal->line;
}

static void asked(World *w, const char *name, const char *addr6)
{
    VmrpcNameAddr addr = { .ttl_s = 60 };
    DnsName wire;

    g_assert_cmpint(dns_name_from_text(&wire, name), ==, 0);
    g_assert_cmpint(inet_pton(AF_INET6, addr6, &addr.addr6), ==, 1);
    vmrpc_names_note(w->fx->srv->reach.names, &wire, &addr, 1,
                     vmrpc_now_ms());
}

static World *world_new(const char *policy)
{
    World *w = g_new0(World, 1);
    VmrpcTracer tracer = { .refused = trace_refused, .opaque = w };

    w->fx = fx_new(&(FxOptions) { .policy = policy, .nat64 = true });
    vmrpc_server_set_tracer(w->fx->srv, &tracer);
    memset(&traced, 0, sizeof(traced));
    w->fd = peer_socket(SOCK_DGRAM, &w->port);
    w->second = peer_socket(SOCK_DGRAM, &w->second_port);
    asked(w, NAME, fx_peer6);
    asked(w, OTHER, fx_peer6);
    asked(w, "else.test", FX_NAT64 "c633:6405");
    fx_ok(fx_socket(w->fx, 0, 1, SOCK_DGRAM));
    return w;
}

static void world_free(World *w)
{
    fx_ok(fx_op(w->fx, VMRPC_CLOSE, 0, 0, 0));
    g_assert_cmpuint(w->fx->srv->flow_bytes, ==, 0);
    fx_free(w->fx);
    close(w->fd);
    close(w->second);
    g_free(w);
}

static FxReply to_peer(World *w, const GByteArray *datagram)
{
    return fx_sendto(w->fx, 0, fx_peer4(w->fx), w->port, datagram->data,
                     datagram->len);
}

static void peer_has(int fd, const void *data, size_t len)
{
    g_autofree uint8_t *buf = g_malloc(len + 1);
    struct pollfd pfd = { .fd = fd, .events = POLLIN };

    g_assert_cmpint(poll(&pfd, 1, FX_WAIT_MS), ==, 1);
    g_assert_cmpint(recv(fd, buf, len + 1, 0), ==, len);
    g_assert_cmpmem(buf, len, data, len);
}

static void peer_has_nothing(int fd)
{
    struct pollfd pfd = { .fd = fd, .events = POLLIN };

    g_assert_cmpint(poll(&pfd, 1, 0), ==, 0);
}

static void assert_refused(World *w, FxReply r, const char *reason,
                           const char *name, unsigned line)
{
    fx_fails(r, EACCES);
    g_assert_cmpuint(traced.refusals, ==, 1);
    g_assert_cmpstr(traced.reason, ==, reason);
    g_assert_cmpstr(traced.name, ==, name);
    g_assert_cmpuint(traced.line, ==, line);
    g_assert_cmpuint(traced.port, ==, w->port);
    g_assert_true(traced.has_socket);
    memset(&traced, 0, sizeof(traced));
    peer_has_nothing(w->fd);
}

/* An Initial with a part of a hello, from @from to @to of 1000 */
static GByteArray *initial_of(const char *id, HelloSpec spec, size_t from,
                              size_t to)
{
    g_autoptr(GByteArray) message = hello_message(&spec);
    g_autoptr(GByteArray) frames = g_byte_array_new();
    GByteArray *datagram = g_byte_array_new();

    from = from * message->len / 1000;
    to = to * message->len / 1000;
    quic_add_crypto(frames, from, message->data + from, to - from);
    quic_add_initial(datagram, &(QuicPacket) { .id = id, .number = from },
                     frames);
    return datagram;
}

static GByteArray *hello_of(const char *name)
{
    return initial_of(ID, (HelloSpec) { .name = name }, 0, 1000);
}

#define SHORT   "\x40 short header"

static void test_parts(void)
{
    const HelloSpec spec = { .name = NAME, .share = 1216 };
    World *w = world_new(POLICY);
    g_autoptr(GByteArray) one = initial_of(ID, spec, 0, 400);
    g_autoptr(GByteArray) two = initial_of(ID, spec, 400, 1000);
    FxReply r;

    r = to_peer(w, two);
    fx_ok(r);
    g_assert_cmpuint(r.value, ==, two->len);
    peer_has_nothing(w->fd);
    fx_ok(to_peer(w, one));
    peer_has(w->fd, two->data, two->len);
    peer_has(w->fd, one->data, one->len);
    r = fx_sendto(w->fx, 0, fx_peer4(w->fx), w->port, SHORT, sizeof(SHORT));
    fx_ok(r);
    g_assert_cmpuint(r.value, ==, sizeof(SHORT));
    peer_has(w->fd, SHORT, sizeof(SHORT));
    g_assert_cmpuint(traced.refusals, ==, 0);
    world_free(w);
}

static void test_connected(void)
{
    World *w = world_new(POLICY);
    g_autoptr(GByteArray) hello = hello_of(NAME);

    fx_ok(fx_addr_op(w->fx, VMRPC_CONNECT, 0, fx_peer4(w->fx), w->port));
    assert_refused(w, fx_send(w->fx, 0, "no QUIC", 7), "not-tls", "", 0);
    fx_ok(fx_send(w->fx, 0, hello->data, hello->len));
    peer_has(w->fd, hello->data, hello->len);
    fx_ok(fx_send(w->fx, 0, SHORT, sizeof(SHORT)));
    peer_has(w->fd, SHORT, sizeof(SHORT));
    /* Another peer has heard nothing yet, nor has this one from then on. */
    fx_ok(fx_addr_op(w->fx, VMRPC_CONNECT, 0, fx_peer4(w->fx),
                     w->second_port));
    fx_fails(fx_send(w->fx, 0, SHORT, sizeof(SHORT)), EACCES);
    peer_has_nothing(w->second);
    world_free(w);
}

static void test_reasons(void)
{
    static const struct {
        HelloSpec spec;
        const char *reason, *name;
        unsigned line;
    } cases[] = {
        { { .name = OTHER }, "other-name", OTHER, 2 },
        { { .name = "nobody.test" }, "not-asked", "nobody.test", 0 },
        { { .name = "else.test" }, "not-asked", "else.test", 4 },
        { { .alpn = "h3" }, "no-name", "", 0 },
        { { .name = NAME, .ech = 0xfe0d }, "ech", NAME, 0 },
    };
    World *w = world_new(POLICY "ech refuse\n");
    g_autoptr(GByteArray) other = g_byte_array_new();

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GByteArray) hello = initial_of(i % 2 ? ID : ID_2,
                                                 cases[i].spec, 0, 1000);

        assert_refused(w, to_peer(w, hello), cases[i].reason, cases[i].name,
                       cases[i].line);
        assert_refused(w, fx_sendto(w->fx, 0, fx_peer4(w->fx), w->port, SHORT,
                                    sizeof(SHORT)), "not-tls", "", 0);
    }
    quic_add_long(other, 5, 0, 1200);
    assert_refused(w, to_peer(w, other), "not-tls", "", 0);
    assert_refused(w, fx_sendto(w->fx, 0, fx_peer4(w->fx), w->port, "", 0),
                   "not-tls", "", 0);
    g_assert_cmpuint(fx_reach_counters(w->fx)->refused_hello, ==,
                     2 * G_N_ELEMENTS(cases) + 2);
    world_free(w);
}

/* What one peer was told opens no other. */
static void test_peers(void)
{
    World *w = world_new(POLICY);
    g_autoptr(GByteArray) hello = hello_of(NAME);

    fx_ok(to_peer(w, hello));
    peer_has(w->fd, hello->data, hello->len);
    fx_fails(fx_sendto(w->fx, 0, fx_peer4(w->fx), w->second_port, SHORT,
                       sizeof(SHORT)), EACCES);
    for (unsigned i = 0; i < VMRPC_FLOWS_MAX; i++) {
        g_assert_cmpuint(w->fx->srv->socks[0]->flows->len, <=,
                         VMRPC_FLOWS_MAX);
        fx_fails(fx_sendto(w->fx, 0, fx_peer4(w->fx), 20000 + i, SHORT,
                           sizeof(SHORT)), EACCES);
    }
    /* The first flow was displaced. */
    fx_fails(fx_sendto(w->fx, 0, fx_peer4(w->fx), w->port, SHORT,
                       sizeof(SHORT)), EACCES);
    peer_has_nothing(w->fd);
    peer_has_nothing(w->second);
    world_free(w);
}

/* A part of another connection's hello does not leave with this one's. */
static void test_hidden(void)
{
    const HelloSpec evil = { .name = OTHER };
    World *w = world_new(POLICY);
    g_autoptr(GByteArray) hello = hello_of(NAME);
    g_autoptr(GByteArray) part = initial_of(ID_2, evil, 0, 500);
    g_autoptr(GByteArray) rest = initial_of(ID_2, evil, 500, 1000);

    fx_ok(to_peer(w, part));
    fx_ok(to_peer(w, hello));
    peer_has(w->fd, hello->data, hello->len);
    fx_ok(to_peer(w, rest));
    fx_ok(to_peer(w, hello));
    peer_has(w->fd, hello->data, hello->len);
    fx_ok(to_peer(w, part));
    peer_has_nothing(w->fd);
    assert_refused(w, to_peer(w, rest), "other-name", OTHER, 2);
    world_free(w);
}

static FxReply send_flags(World *w, const GByteArray *data, int flags)
{
    struct vmrpc_req req = fx_req(w->fx, VMRPC_SENDMSG, 0);

    req.u.msg.flags = fx_le(flags);
    return fx_call(w->fx, &req, data->data, data->len, NULL, 0);
}

static void test_joined(void)
{
    World *w = world_new(POLICY);
    g_autoptr(GByteArray) hello = hello_of(NAME);
    uint32_t on = fx_le(1), off = 0;

    fx_ok(fx_addr_op(w->fx, VMRPC_CONNECT, 0, fx_peer4(w->fx), w->port));
    assert_refused(w, send_flags(w, hello, MSG_MORE), "malformed", "", 0);
    fx_ok(fx_setsockopt(w->fx, 0, IPPROTO_UDP, UDP_CORK, &on, 4));
    assert_refused(w, send_flags(w, hello, 0), "malformed", "", 0);
    fx_ok(fx_setsockopt(w->fx, 0, IPPROTO_UDP, UDP_CORK, &off, 4));
    fx_ok(send_flags(w, hello, 0));
    peer_has(w->fd, hello->data, hello->len);
    world_free(w);
}

/* Several datagrams in one call */
static void test_segments(void)
{
    const HelloSpec spec = { .name = NAME, .share = 1216 };
    World *w = world_new(POLICY);
    g_autoptr(GByteArray) both = initial_of(ID, spec, 0, 400);
    g_autoptr(GByteArray) two = initial_of(ID, spec, 400, 1000);
    g_autoptr(GByteArray) mixed = g_byte_array_new();
    g_autoptr(GByteArray) shorts = g_byte_array_new();
    guint len = both->len;
    uint32_t size = fx_le(len);

    g_assert_cmpuint(two->len, ==, len);
    g_byte_array_append(both, two->data, two->len);
    fx_ok(fx_addr_op(w->fx, VMRPC_CONNECT, 0, fx_peer4(w->fx), w->port));
    if (fx_setsockopt(w->fx, 0, IPPROTO_UDP, UDP_SEGMENT, &size, 4).error) {
        g_test_skip("the host has no UDP_SEGMENT");
        world_free(w);
        return;
    }
    fx_ok(send_flags(w, both, 0));
    peer_has(w->fd, both->data, len);
    peer_has(w->fd, both->data + len, len);
    g_byte_array_set_size(shorts, 2 * len + 9);
    memset(shorts->data, 0x41, shorts->len);
    fx_ok(send_flags(w, shorts, 0));
    peer_has(w->fd, shorts->data, len);
    peer_has(w->fd, shorts->data + len, len);
    peer_has(w->fd, shorts->data + 2 * len, 9);
    /* A hello behind another datagram */
    g_byte_array_append(mixed, shorts->data, len);
    {
        g_autoptr(GByteArray) evil = initial_of(ID_2, (HelloSpec) {
                                                    .name = OTHER }, 0, 1000);

        g_byte_array_append(mixed, evil->data, evil->len);
    }
    fx_fails(send_flags(w, mixed, 0), EACCES);
    peer_has(w->fd, shorts->data, len);
    peer_has_nothing(w->fd);
    world_free(w);
}

/* One call sends no more of them than Linux does. */
static void test_many_segments(void)
{
    World *w = world_new(POLICY);
    g_autoptr(GByteArray) hello = hello_of(NAME);
    g_autoptr(GByteArray) shorts = g_byte_array_new();
    uint32_t size = fx_le(1);

    fx_ok(to_peer(w, hello));
    peer_has(w->fd, hello->data, hello->len);
    if (fx_setsockopt(w->fx, 0, IPPROTO_UDP, UDP_SEGMENT, &size, 4).error) {
        g_test_skip("the host has no UDP_SEGMENT");
        world_free(w);
        return;
    }
    g_byte_array_set_size(shorts, 60000);
    memset(shorts->data, 0x41, shorts->len);
    fx_fails(to_peer(w, shorts), EINVAL);
    peer_has_nothing(w->fd);
    world_free(w);
}

/* What was kept leaves as it came, whatever the socket's option is then. */
static void test_cut_elsewhere(void)
{
    const HelloSpec spec = { .name = NAME, .share = 1216 };
    World *w = world_new(POLICY);
    g_autoptr(GByteArray) one = initial_of(ID, spec, 0, 400);
    g_autoptr(GByteArray) two = initial_of(ID, spec, 400, 1000);
    uint32_t size = fx_le(601);

    fx_ok(fx_addr_op(w->fx, VMRPC_CONNECT, 0, fx_peer4(w->fx), w->port));
    fx_ok(send_flags(w, one, 0));
    if (fx_setsockopt(w->fx, 0, IPPROTO_UDP, UDP_SEGMENT, &size, 4).error) {
        g_test_skip("the host has no UDP_SEGMENT");
    } else {
        w->fx->srv->socks[0]->segment = 0;      /* another thread's, just now */
        fx_ok(send_flags(w, two, 0));
        peer_has(w->fd, one->data, one->len);
        peer_has(w->fd, two->data, two->len);
        fx_ok(fx_send(w->fx, 0, SHORT, sizeof(SHORT)));
        peer_has(w->fd, SHORT, sizeof(SHORT));
    }
    world_free(w);
}

/* The copy that was read leaves. */
static void test_memory(void)
{
    World *w = world_new(POLICY);
    g_autoptr(GByteArray) hello = hello_of(NAME);
    g_autofree uint8_t *was = g_memdup2(hello->data, hello->len);

    scribbled = hello;
    fx_ok(to_peer(w, hello));
    scribbled = NULL;
    peer_has(w->fd, was, hello->len);
    world_free(w);
}

static void test_bounds(void)
{
    World *w = world_new(POLICY);
    g_autoptr(GByteArray) part = initial_of(ID, (HelloSpec) { .name = NAME },
                                            0, 500);

    w->fx->srv->flow_bytes = VMRPC_FLOW_BYTES_MAX - 2000;
    assert_refused(w, to_peer(w, part), "full", "", 0);
    w->fx->srv->flow_bytes -= VMRPC_FLOW_BYTES_MAX - 2000;
    /* Another thread sends to the peer before. */
    w->fx->srv->socks[0]->senders++;
    fx_fails(fx_addr_op(w->fx, VMRPC_CONNECT, 0, fx_peer4(w->fx), w->port),
             EALREADY);
    w->fx->srv->socks[0]->senders--;
    world_free(w);
}

/* --- a new policy file ----------------------------------------------------- */

#define ANY     "allow *.test udp tls\ndefault deny\n"
#define NO_WWW  "allow other.test udp tls\ndeny www.test\n" ANY

static FxReply short_to(World *w, uint16_t port)
{
    return fx_sendto(w->fx, 0, fx_peer4(w->fx), port, SHORT, sizeof(SHORT));
}

/* Begins a connection. */
static void greet(World *w, const char *name)
{
    static unsigned connections;
    g_autofree char *id = g_strdup_printf("%016x", ++connections);
    g_autoptr(GByteArray) hello = initial_of(id, (HelloSpec) { .name = name },
                                             0, 1000);

    fx_ok(to_peer(w, hello));
    peer_has(w->fd, hello->data, hello->len);
}

static void assert_ended(World *w, const char *reason, const char *name,
                         unsigned line, unsigned ended)
{
    assert_refused(w, (FxReply) { .error = EACCES }, reason, name, line);
    g_assert_cmpuint(fx_counters(w->fx)->connections_ended, ==, ended);
}

/* Other names of the address do not keep the flow alive. */
static void test_end_refused(void)
{
    World *w = world_new(ANY);
    g_autoptr(GByteArray) hello = hello_of(OTHER);

    greet(w, NAME);
    fx_ok(fx_sendto(w->fx, 0, fx_peer4(w->fx), w->second_port, hello->data,
                    hello->len));
    peer_has(w->second, hello->data, hello->len);
    fx_new_rules(w->fx, NO_WWW);
    /* That alone ends nothing. */
    fx_ok(short_to(w, w->port));
    peer_has(w->fd, SHORT, sizeof(SHORT));
    vmrpc_server_end_refused(w->fx->srv);
    assert_ended(w, "other-name", NAME, 2, 1);
    assert_refused(w, short_to(w, w->port), "not-tls", "", 0);
    fx_ok(short_to(w, w->second_port));
    peer_has(w->second, SHORT, sizeof(SHORT));
    /* It can begin anew, by another name. */
    greet(w, OTHER);
    fx_ok(short_to(w, w->port));
    peer_has(w->fd, SHORT, sizeof(SHORT));
    vmrpc_server_end_refused(w->fx->srv);
    g_assert_cmpuint(traced.refusals, ==, 0);
    /* The names are forgotten. */
    vmrpc_names_free(w->fx->srv->reach.names);
    w->fx->srv->reach.names = vmrpc_names_new(16, NULL);
    vmrpc_server_end_refused(w->fx->srv);
    g_assert_cmpuint(traced.refusals, ==, 2);
    g_assert_cmpstr(traced.reason, ==, "not-asked");
    g_assert_cmpuint(w->fx->srv->flow_bytes, ==, 0);
    world_free(w);
}

static void test_end_refused_connected(void)
{
    World *w = world_new(ANY);
    g_autoptr(GByteArray) hello = hello_of(NAME);

    fx_ok(fx_addr_op(w->fx, VMRPC_CONNECT, 0, fx_peer4(w->fx), w->port));
    fx_ok(fx_send(w->fx, 0, hello->data, hello->len));
    peer_has(w->fd, hello->data, hello->len);
    fx_new_rules(w->fx, NO_WWW);
    vmrpc_server_end_refused(w->fx->srv);
    assert_ended(w, "other-name", NAME, 2, 1);
    assert_refused(w, fx_send(w->fx, 0, SHORT, sizeof(SHORT)), "not-tls", "",
                   0);
    /* Without any name that may be here, it has no peer any more. */
    fx_new_rules(w->fx, "allow other.test udp tls\ndefault deny\n");
    {
        g_autoptr(GByteArray) other = initial_of(ID_2, (HelloSpec) {
                                                     .name = OTHER }, 0, 1000);

        fx_ok(fx_send(w->fx, 0, other->data, other->len));
        peer_has(w->fd, other->data, other->len);
    }
    fx_new_rules(w->fx, "default deny\n");
    vmrpc_server_end_refused(w->fx->srv);
    g_assert_cmpuint(fx_counters(w->fx)->connections_ended, ==, 2);
    g_assert_cmpint(fx_wait_error(w->fx, 0), ==, ECONNRESET);
    g_assert_cmpuint(w->fx->srv->flow_bytes, ==, 0);
    world_free(w);
}

/* Short headers do not tell the flow's connections apart. */
static void test_end_several_names(void)
{
    World *w = world_new(ANY);
    char name[16];

    greet(w, NAME);
    greet(w, OTHER);
    greet(w, OTHER);
    fx_new_rules(w->fx, NO_WWW);
    vmrpc_server_end_refused(w->fx->srv);
    assert_ended(w, "other-name", NAME, 2, 1);
    assert_refused(w, short_to(w, w->port), "not-tls", "", 0);
    /* Of more names than are remembered, some may be refused. */
    for (unsigned i = 0; i <= VMRPC_FLOW_NAMES_MAX; i++) {
        vmrpc_server_end_refused(w->fx->srv);
        g_assert_cmpuint(traced.refusals, ==, 0);
        g_snprintf(name, sizeof(name), "n%u.test", i);
        asked(w, name, fx_peer6);
        greet(w, name);
    }
    vmrpc_server_end_refused(w->fx->srv);
    assert_ended(w, "full", "", 0, 2);
    world_free(w);
}

/* The demand comes, and goes. */
static void test_other_demand(void)
{
    World *w = world_new("allow *.test udp\ndefault deny\n");
    g_autoptr(GByteArray) hello = hello_of(NAME);

    fx_ok(fx_addr_op(w->fx, VMRPC_CONNECT, 0, fx_peer4(w->fx), w->port));
    fx_ok(fx_send(w->fx, 0, SHORT, sizeof(SHORT)));
    peer_has(w->fd, SHORT, sizeof(SHORT));
    fx_new_rules(w->fx, ANY);
    vmrpc_server_end_refused(w->fx->srv);
    g_assert_cmpuint(traced.refusals, ==, 0);
    assert_refused(w, fx_send(w->fx, 0, SHORT, sizeof(SHORT)), "not-tls", "",
                   0);
    fx_ok(fx_send(w->fx, 0, hello->data, hello->len));
    peer_has(w->fd, hello->data, hello->len);
    fx_new_rules(w->fx, "allow host udp\n");
    vmrpc_server_end_refused(w->fx->srv);
    fx_ok(fx_send(w->fx, 0, SHORT, sizeof(SHORT)));
    peer_has(w->fd, SHORT, sizeof(SHORT));
    g_assert_cmpuint(traced.refusals, ==, 0);
    g_assert_cmpuint(fx_counters(w->fx)->connections_ended, ==, 0);
    g_assert_cmpuint(w->fx->srv->flow_bytes, ==, 0);
    /* So a new demand is one for a hello. */
    fx_new_rules(w->fx, ANY);
    vmrpc_server_end_refused(w->fx->srv);
    assert_refused(w, fx_send(w->fx, 0, SHORT, sizeof(SHORT)), "not-tls", "",
                   0);
    world_free(w);
}

/* --- migration ------------------------------------------------------------- */

static void keep(void *opaque, const VmrpcSavedSock *saved)
{
    *(VmrpcSavedSock *)opaque = *saved;
}

static void restore_entry(const VmrpcAddrMapEntry *entry, void *opaque)
{
    g_assert_cmpint(vmrpc_addrmap_restore(opaque, entry->addr4, &entry->addr6,
                                          entry->remaining_ms, vmrpc_now_ms()),
                    ==, 0);
}

/* The socket keeps its peer, which has heard no hello here. */
static void test_migrated(void)
{
    World *w = world_new(POLICY);
    g_autoptr(GByteArray) hello = hello_of(NAME);
    g_autofree VmrpcSavedSock *saved = g_new0(VmrpcSavedSock, 1);
    Fx *to;

    fx_ok(fx_addr_op(w->fx, VMRPC_CONNECT, 0, fx_peer4(w->fx), w->port));
    fx_ok(fx_send(w->fx, 0, hello->data, hello->len));
    peer_has(w->fd, hello->data, hello->len);
    vmrpc_server_save(w->fx->srv, keep, saved);
    to = fx_new(&(FxOptions) { .policy = POLICY, .nat64 = true,
                               .incoming = true });
    vmrpc_addrmap_foreach(vmrpc_server_addrmap(w->fx->srv), vmrpc_now_ms(),
                          restore_entry, vmrpc_server_addrmap(to->srv));
    memcpy(to->sock, w->fx->sock, sizeof(to->sock));
    to->edge = true;            /* as every socket that is restored */
    fx_free(w->fx);
    w->fx = to;
    asked(w, NAME, fx_peer6);
    g_assert_cmpint(vmrpc_server_restore(to->srv, saved), ==, 0);
    to->sock[0].ready = 0;
    fx_wait(to, 0, VMRPC_OUT);
    fx_fails(fx_send(to, 0, SHORT, sizeof(SHORT)), EACCES);
    peer_has_nothing(w->fd);
    fx_ok(fx_send(to, 0, hello->data, hello->len));
    peer_has(w->fd, hello->data, hello->len);
    fx_ok(fx_send(to, 0, SHORT, sizeof(SHORT)));
    peer_has(w->fd, SHORT, sizeof(SHORT));
    world_free(w);
}

int main(int argc, char **argv)
{
    fx_init();
    g_test_init(&argc, &argv, NULL);
    if (!fx_has_namespace()) {
        return 77;
    }
    g_test_add_func("/server/flows/parts", test_parts);
    g_test_add_func("/server/flows/connected", test_connected);
    g_test_add_func("/server/flows/reasons", test_reasons);
    g_test_add_func("/server/flows/peers", test_peers);
    g_test_add_func("/server/flows/hidden", test_hidden);
    g_test_add_func("/server/flows/joined", test_joined);
    g_test_add_func("/server/flows/segments", test_segments);
    g_test_add_func("/server/flows/many-segments", test_many_segments);
    g_test_add_func("/server/flows/cut-elsewhere", test_cut_elsewhere);
    g_test_add_func("/server/flows/memory", test_memory);
    g_test_add_func("/server/flows/bounds", test_bounds);
    g_test_add_func("/server/flows/end-refused", test_end_refused);
    g_test_add_func("/server/flows/end-refused-connected",
                    test_end_refused_connected);
    g_test_add_func("/server/flows/end-several-names", test_end_several_names);
    g_test_add_func("/server/flows/other-demand", test_other_demand);
    g_test_add_func("/server/flows/migrated", test_migrated);
    return g_test_run();
}
