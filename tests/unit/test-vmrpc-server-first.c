/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Socket server: streams whose first bytes must say a name that was asked
 *
 * The peer is on this host.  For the policy it is not: __wrap_*() below.
 */
#include "tests/fixtures/hello-fixture.h"
#include "tests/fixtures/server-fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hw/vmrpc/peer/first-bytes.h"
#include "hw/vmrpc/sock/state.h"
#include "hw/vmrpc/sock/timer.h"

#define NAME    "www.test"
#define OTHER   "other.test"
#define RECORD  16384
#define OTHER6  FX_NAT64 "c633:6405"    /* on this host, too */

#define POLICY  "allow www.test tcp tls\n" \
                "deny other.test\n" \
                "allow *.test tcp tls\n" \
                "default deny\n"

/* --- what the tests replace ------------------------------------------------ */

bool __wrap_vmrpc_route_is_local(VmrpcRoute *route, const struct sockaddr *dest,
                                 const struct sockaddr *source, int proto);
int64_t __real_vmrpc_now_ms(void);
int64_t __wrap_vmrpc_now_ms(void);
VmrpcSaidStep __real_vmrpc_hello_look(VmrpcHello *hello, const uint8_t *kept,
                                       size_t len, VmrpcSaid *said,
                                       size_t *pass);
VmrpcSaidStep __wrap_vmrpc_hello_look(VmrpcHello *hello, const uint8_t *kept,
                                       size_t len, VmrpcSaid *said,
                                       size_t *pass);

static VmrpcAudit *audit;       /* NULL: none */
static int64_t ahead_ms;
static GByteArray *scribbled;   /* the guest changes it during the call */

bool __wrap_vmrpc_route_is_local(VmrpcRoute *route, const struct sockaddr *dest,
                                 const struct sockaddr *source, int proto)
{
    return false;
}

int64_t __wrap_vmrpc_now_ms(void)
{
    return __real_vmrpc_now_ms() + ahead_ms;
}

VmrpcSaidStep __wrap_vmrpc_hello_look(VmrpcHello *hello, const uint8_t *kept,
                                       size_t len, VmrpcSaid *said,
                                       size_t *pass)
{
    VmrpcSaidStep step;

    if (scribbled) {
        memset(scribbled->data, 'x', scribbled->len);
    }
    step = __real_vmrpc_hello_look(hello, kept, len, said, pass);
    if (scribbled) {
        memset(scribbled->data, 'y', scribbled->len);
    }
    return step;
}

/* --- a guest, a peer, and a connection between them ------------------------ */

static struct {
    unsigned refusals;
    char name[64], reason[32];
    unsigned port, line;
} traced;

static void trace_refused(void *opaque, const VmrpcRefusal *refusal)
{
    traced.refusals++;
    g_strlcpy(traced.name, refusal->name ?: "", sizeof(traced.name));
    g_strlcpy(traced.reason, refusal->reason, sizeof(traced.reason));
    traced.port = refusal->port;
    traced.line = refusal->line;
}

typedef struct World {
    Fx *fx;
    int listener, fd;           /* the peer's */
    uint16_t port;
} World;

/* The guest asked for @name, and DNS said @addr6. */
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
    VmrpcTracer tracer = { .refused = trace_refused };

    w->fx = fx_new(&(FxOptions) { .policy = policy, .nat64 = true,
                                  .audit = audit });
    vmrpc_server_set_tracer(w->fx->srv, &tracer);
    memset(&traced, 0, sizeof(traced));
    w->listener = peer_socket(SOCK_STREAM, &w->port);
    w->fd = -1;
    asked(w, NAME, fx_peer6);
    asked(w, OTHER, fx_peer6);
    asked(w, "else.test", OTHER6);
    return w;
}

static void connect_guest(World *w)
{
    w->fd = fx_connect_stream(w->fx, 0, w->listener, w->port);
}

static void hang_up(World *w)
{
    if (w->fd >= 0) {
        close(w->fd);
        w->fd = -1;
    }
    fx_op(w->fx, VMRPC_CLOSE, 0, 0, 0);
    g_assert_cmpuint(w->fx->srv->first_bytes, ==, 0);
    g_assert_cmpuint(w->fx->srv->first_waits.length, ==, 0);
}

static void world_free(World *w)
{
    hang_up(w);
    fx_free(w->fx);
    close(w->listener);
    g_free(w);
}

static bool is_watched(const World *w)
{
    return w->fx->srv->socks[0]->first;
}

static bool peer_has_nothing(const World *w)
{
    struct pollfd pfd = { .fd = w->fd, .events = POLLIN };

    return poll(&pfd, 1, 0) == 0;
}

static void peer_has(const World *w, const void *data, size_t len)
{
    g_autofree uint8_t *buf = g_malloc(len + 1);

    peer_read(w->fd, buf, len);
    g_assert_cmpmem(buf, len, data, len);
}

/* Sends all, in parts of @part octets. */
static void guest_sends(World *w, const void *data, size_t len, size_t part)
{
    for (size_t at = 0; at < len;) {
        FxReply r = fx_send(w->fx, 0, (const uint8_t *)data + at,
                            MIN(part, len - at));

        fx_ok(r);
        g_assert_cmpuint(r.value, >, 0);
        at += r.value;
    }
}

static GByteArray *stream_of(HelloSpec spec)
{
    GByteArray *stream = g_byte_array_new();

    hello_add(stream, &spec, RECORD);
    return stream;
}

/* The peer got nothing after @num octets, and a reset. */
static void assert_reset(World *w, size_t num)
{
    uint8_t buf[4096];
    ssize_t n;

    peer_await(w->fd);
    while ((n = recv(w->fd, buf, sizeof(buf), 0)) > 0) {
        g_assert_cmpuint(n, <=, num);
        num -= n;
    }
    g_assert_cmpint(n, ==, -1);
    g_assert_cmpint(errno, ==, ECONNRESET);
}

static void assert_refused(World *w, int error, const char *reason,
                           const char *name, unsigned line)
{
    g_assert_cmpint(error, ==, EACCES);
    g_assert_cmpuint(traced.refusals, ==, 1);
    g_assert_cmpstr(traced.reason, ==, reason);
    g_assert_cmpstr(traced.name, ==, name);
    g_assert_cmpuint(traced.line, ==, line);
    g_assert_cmpuint(traced.port, ==, w->port);
    memset(&traced, 0, sizeof(traced));
}

/* --- agreed ---------------------------------------------------------------- */

/* Nothing leaves before the hello is whole; then all of it, unchanged. */
static void test_parts(void)
{
    World *w = world_new(POLICY);
    g_autoptr(GByteArray) stream = stream_of((HelloSpec) { .name = NAME,
                                                           .alpn = "h2" });
    size_t hello = stream->len;

    hello_add_records(stream, 20, "\1", 1, 1);
    hello_add_records(stream, 23, "encrypted", 9, RECORD);
    for (size_t cut = 1; cut < stream->len; cut++) {
        connect_guest(w);
        guest_sends(w, stream->data, cut, RECORD);
        g_assert_true(cut >= hello || peer_has_nothing(w));
        guest_sends(w, stream->data + cut, stream->len - cut, RECORD);
        peer_has(w, stream->data, stream->len);
        g_assert_false(is_watched(w));
        hang_up(w);
    }
    connect_guest(w);
    guest_sends(w, stream->data, hello - 1, 1);
    g_assert_true(peer_has_nothing(w));
    guest_sends(w, stream->data + hello - 1, stream->len - hello + 1, 1);
    peer_has(w, stream->data, stream->len);
    guest_sends(w, "more", 4, 4);
    peer_has(w, "more", 4);
    g_assert_cmpuint(traced.refusals, ==, 0);
    world_free(w);
}

static void test_server_first(void)
{
    World *w = world_new(POLICY);
    g_autoptr(GByteArray) stream = stream_of((HelloSpec) { .name = NAME });
    char buf[10];

    connect_guest(w);
    guest_sends(w, stream->data, 20, 20);
    g_assert_cmpint(send(w->fd, "220 hello\n", 10, 0), ==, 10);
    fx_wait(w->fx, 0, VMRPC_IN);
    g_assert_cmpuint(fx_recv(w->fx, 0, buf, 10, 0).value, ==, 10);
    guest_sends(w, stream->data + 20, stream->len - 20, RECORD);
    peer_has(w, stream->data, stream->len);
    world_free(w);
}

/* The copy that was read leaves, whatever the guest makes of its memory. */
static void test_memory(void)
{
    World *w = world_new(POLICY);
    g_autoptr(GByteArray) stream = stream_of((HelloSpec) { .name = NAME });
    g_autofree uint8_t *was = g_memdup2(stream->data, stream->len);

    connect_guest(w);
    scribbled = stream;
    fx_ok(fx_send(w->fx, 0, stream->data, stream->len));
    scribbled = NULL;
    peer_has(w, was, stream->len);
    world_free(w);
}

/* The peer does not read: what the host has no room for is not lost. */
static void test_no_room(void)
{
    enum { MESSAGE = 8 << 20, PART = 100000 };
    const uint8_t header[] = { 11, MESSAGE >> 16, MESSAGE >> 8 & 255,
                               MESSAGE & 255 };
    World *w = world_new(POLICY);
    g_autoptr(GByteArray) stream = stream_of((HelloSpec) { .name = NAME });
    g_autoptr(GByteArray) message = g_byte_array_new();
    size_t at = 0, read = 0;

    /* A client's certificate is clear, so it is watched. */
    g_byte_array_append(message, header, sizeof(header));
    g_byte_array_set_size(message, sizeof(header) + MESSAGE);
    for (size_t i = 0; i < MESSAGE; i++) {
        message->data[sizeof(header) + i] = i * 7 >> 3;
    }
    hello_add_records(stream, 22, message->data, message->len, RECORD);
    hello_add_records(stream, 23, "encrypted", 9, RECORD);
    connect_guest(w);
    while (read < stream->len) {
        uint8_t buf[50000];
        ssize_t n;

        while (at < stream->len) {
            FxReply r = fx_send(w->fx, 0, stream->data + at,
                                MIN(PART, stream->len - at));

            if (r.error) {
                fx_fails(r, EAGAIN);
                break;
            }
            at += r.value;
        }
        g_assert_true(is_watched(w) || at == stream->len);
        n = recv(w->fd, buf, sizeof(buf), 0);
        g_assert_cmpint(n, >, 0);
        g_assert_cmpmem(buf, n, stream->data + read, n);
        read += n;
        fx_pump(w->fx);
    }
    g_assert_cmpuint(at, ==, stream->len);
    g_assert_false(is_watched(w));
    world_free(w);
}

/* --- HTTP ------------------------------------------------------------------ */

#define HTTP    "allow www.test tcp http\ndeny other.test\n" \
                "allow *.test tcp http\ndefault deny\n"
#define HEAD    "POST / HTTP/1.1\r\nHost: www.test\r\n"

/* Each request is read; bodies pass from the guest's memory. */
static void test_http(void)
{
    enum { BODY = 3 << 20 };
    World *w = world_new(HTTP);
    g_autoptr(GString) stream = g_string_new(HEAD "Content-Length: 3145728"
                                             "\r\n\r\n");
    size_t at = 0, read = 0, head = stream->len, bad;
    FxReply r;

    for (size_t i = 0; i < BODY; i++) {
        g_string_append_c(stream, i * 7 >> 3);
    }
    g_string_append(stream, HEAD "Transfer-Encoding: chunked\r\n\r\n"
                            "5\r\nhello\r\n0\r\n\r\n");
    bad = stream->len;
    g_string_append(stream, "GET / HTTP/1.1\r\nHost: other.test\r\n\r\n");
    connect_guest(w);
    guest_sends(w, stream->str, head - 1, RECORD);
    g_assert_true(peer_has_nothing(w));
    at = head - 1;
    while (read < bad) {
        uint8_t buf[50000];
        ssize_t n;

        while (at < bad) {
            r = fx_send(w->fx, 0, stream->str + at, MIN(300000, bad - at));
            if (r.error) {
                fx_fails(r, EAGAIN);
                break;
            }
            at += r.value;
        }
        n = recv(w->fd, buf, sizeof(buf), 0);
        g_assert_cmpint(n, >, 0);
        g_assert_cmpmem(buf, n, stream->str + read, n);
        read += n;
        fx_pump(w->fx);
    }
    g_assert_cmpuint(at, ==, bad);
    r = fx_send(w->fx, 0, stream->str + bad, stream->len - bad);
    assert_refused(w, r.error, "other-name", OTHER, 2);
    assert_reset(w, 0);
    world_free(w);
}

/* A request behind another in one call */
static void test_pipelined(void)
{
    static const char two[] = "GET /1 HTTP/1.1\r\nHost: www.test\r\n\r\n"
                              "GET /2 HTTP/1.1\r\nHost: other.test\r\n\r\n";
    World *w = world_new(HTTP);

    connect_guest(w);
    assert_refused(w, fx_send(w->fx, 0, two, sizeof(two) - 1).error,
                   "other-name", OTHER, 2);
    assert_reset(w, 0);
    world_free(w);
}

/* --- refused --------------------------------------------------------------- */

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
        { { .alpn = "h2" }, "no-name", "", 0 },
        { { .name = "192.0.2.1" }, "no-name", "", 0 },
        { { .name = NAME "." }, "malformed", "", 0 },
        { { .name = NAME, .share = 20000 }, "too-long", "", 0 },
    };
    World *w = world_new(POLICY);
    FxReply r;

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GByteArray) stream = stream_of(cases[i].spec);

        connect_guest(w);
        r = fx_send(w->fx, 0, stream->data, stream->len);
        assert_refused(w, r.error, cases[i].reason, cases[i].name,
                       cases[i].line);
        assert_reset(w, 0);
        fx_wait(w->fx, 0, VMRPC_HUP);
        fx_fails(fx_send(w->fx, 0, "x", 1), EACCES);
        g_assert_cmpuint(fx_reach_counters(w->fx)->refused_hello, ==, i + 1);
        hang_up(w);
    }
    connect_guest(w);
    assert_refused(w, fx_send(w->fx, 0, "G", 1).error, "not-tls", "", 0);
    assert_reset(w, 0);
    world_free(w);
}

static void test_ech(void)
{
    World *w = world_new(POLICY);
    World *refuses = world_new(POLICY "ech refuse\n");
    g_autoptr(GByteArray) stream = stream_of((HelloSpec) { .name = NAME,
                                                           .ech = 0xfe0d });

    connect_guest(w);
    guest_sends(w, stream->data, stream->len, RECORD);
    peer_has(w, stream->data, stream->len);
    world_free(w);
    connect_guest(refuses);
    assert_refused(refuses, fx_send(refuses->fx, 0, stream->data,
                                    stream->len).error, "ech", NAME, 0);
    assert_reset(refuses, 0);
    world_free(refuses);
}

static void test_second_hello(void)
{
    World *w = world_new(POLICY);
    g_autoptr(GByteArray) first = stream_of((HelloSpec) { .name = NAME });
    g_autoptr(GByteArray) second = stream_of((HelloSpec) { .name = OTHER });

    connect_guest(w);
    guest_sends(w, first->data, first->len, RECORD);
    peer_has(w, first->data, first->len);
    assert_refused(w, fx_send(w->fx, 0, second->data, second->len).error,
                   "other-name", OTHER, 2);
    assert_reset(w, 0);
    world_free(w);
}

static FxReply send_flags(World *w, const void *data, size_t len, int flags)
{
    struct vmrpc_req req = fx_req(w->fx, VMRPC_SENDMSG, 0);

    req.u.msg.flags = fx_le(flags);
    return fx_call(w->fx, &req, data, len, NULL, 0);
}

static void test_flags(void)
{
    World *w = world_new(POLICY);
    g_autoptr(GByteArray) stream = stream_of((HelloSpec) { .name = NAME });

    connect_guest(w);
    fx_ok(send_flags(w, stream->data, 40, MSG_MORE));
    fx_ok(send_flags(w, stream->data + 40, stream->len - 40, 0));
    peer_has(w, stream->data, stream->len);
    hang_up(w);
    connect_guest(w);
    guest_sends(w, stream->data, 40, 40);
    assert_refused(w, send_flags(w, "x", 1, MSG_OOB).error, "malformed", "",
                   0);
    assert_reset(w, 0);
    world_free(w);
}

/* A hello that will not become whole does not leave. */
static void test_half_close(void)
{
    World *w = world_new(POLICY);
    g_autoptr(GByteArray) stream = stream_of((HelloSpec) { .name = NAME });
    char octet;

    connect_guest(w);
    guest_sends(w, stream->data, stream->len - 1, RECORD);
    fx_ok(fx_op(w->fx, VMRPC_SHUTDOWN, 0, SHUT_WR, 0));
    peer_await(w->fd);
    g_assert_cmpint(recv(w->fd, &octet, 1, 0), ==, 0);
    assert_refused(w, EACCES, "malformed", "", 0);
    fx_fails(fx_send(w->fx, 0, stream->data + stream->len - 1, 1), EPIPE);
    hang_up(w);
    connect_guest(w);
    guest_sends(w, stream->data, stream->len - 1, RECORD);
    fx_ok(fx_op(w->fx, VMRPC_CLOSE, 0, 0, 0));
    peer_await(w->fd);
    g_assert_cmpint(recv(w->fd, &octet, 1, 0), ==, 0);
    world_free(w);
}

static void test_late(void)
{
    World *w = world_new(POLICY);
    g_autoptr(GByteArray) stream = stream_of((HelloSpec) { .name = NAME });

    connect_guest(w);
    g_assert_cmpint(vmrpc_first_timeout_ms(w->fx->srv), ==, -1);
    guest_sends(w, stream->data, 20, 1);
    g_assert_cmpint(vmrpc_first_timeout_ms(w->fx->srv), <=,
                    VMRPC_FIRST_TIME_MS);
    ahead_ms = VMRPC_FIRST_TIME_MS - 2000;
    vmrpc_first_process_timer(w->fx->srv);
    g_assert_cmpuint(traced.refusals, ==, 0);
    ahead_ms = VMRPC_FIRST_TIME_MS + 1;
    vmrpc_first_process_timer(w->fx->srv);
    ahead_ms = 0;
    assert_refused(w, EACCES, "late", "", 0);
    assert_reset(w, 0);
    fx_wait(w->fx, 0, VMRPC_HUP);
    fx_fails(fx_send(w->fx, 0, stream->data + 20, stream->len - 20), EACCES);
    world_free(w);
}

/* All undecided streams together keep a bounded number of octets. */
static void test_full(void)
{
    World *w = world_new(POLICY);
    g_autoptr(GByteArray) stream = stream_of((HelloSpec) { .name = NAME });

    connect_guest(w);
    w->fx->srv->first_bytes = VMRPC_FIRST_BYTES_MAX - 9;
    guest_sends(w, stream->data, 9, 9);
    assert_refused(w, fx_send(w->fx, 0, stream->data + 9, 1).error, "full", "",
                   0);
    assert_reset(w, 0);
    w->fx->srv->first_bytes -= VMRPC_FIRST_BYTES_MAX - 9;
    /* What comes whole needs no room. */
    hang_up(w);
    connect_guest(w);
    w->fx->srv->first_bytes = VMRPC_FIRST_BYTES_MAX;
    guest_sends(w, stream->data, stream->len, RECORD);
    w->fx->srv->first_bytes = 0;
    peer_has(w, stream->data, stream->len);
    world_free(w);
}

/* --- which rules, and when ------------------------------------------------- */

/* A rule without the word is as before; the first match decides. */
static void test_other_rules(void)
{
    World *plain = world_new("allow www.test\nallow *.test tcp tls\n"
                             "default deny\n");
    World *shared = world_new("allow www.test tcp tls\nallow other.test\n"
                              "default deny\n");
    g_autoptr(GByteArray) stream = stream_of((HelloSpec) { .name = OTHER });

    connect_guest(plain);
    g_assert_false(is_watched(plain));
    guest_sends(plain, "SSH-2.0", 7, 7);
    peer_has(plain, "SSH-2.0", 7);
    world_free(plain);
    /* Another name of this address that the rules allow, too */
    connect_guest(shared);
    guest_sends(shared, stream->data, stream->len, RECORD);
    peer_has(shared, stream->data, stream->len);
    world_free(shared);
}

/* The name that is said leads here by a name that its answers gave. */
static void test_targets(void)
{
    World *w = world_new(POLICY);
    g_autoptr(GByteArray) stream = stream_of((HelloSpec) {
                                                 .name = "origin.test" });
    DnsName origin, target;

    connect_guest(w);
    assert_refused(w, fx_send(w->fx, 0, stream->data, stream->len).error,
                   "not-asked", "origin.test", 0);
    hang_up(w);
    dns_name_from_text(&origin, "_https.origin.test");
    dns_name_from_text(&target, "WWW.test");
    w->fx->srv->reach.targets = vmrpc_targets_new();
    vmrpc_targets_note(w->fx->srv->reach.targets, &origin, &target);
    connect_guest(w);
    guest_sends(w, stream->data, stream->len, RECORD);
    peer_has(w, stream->data, stream->len);
    world_free(w);
}

/* The rules at the time of the hello count. */
static void test_reload(void)
{
    World *w = world_new(POLICY);
    g_autoptr(GByteArray) stream = stream_of((HelloSpec) { .name = NAME });

    connect_guest(w);
    guest_sends(w, stream->data, 9, 9);
    fx_new_rules(w->fx, "deny www.test\n");
    assert_refused(w, fx_send(w->fx, 0, stream->data + 9,
                              stream->len - 9).error, "other-name", NAME, 1);
    assert_reset(w, 0);
    world_free(w);
}

/* A new file that ends what it refuses reads what the stream has said. */
static void test_end_refused(void)
{
    World *w = world_new("allow *.test tcp tls\ndefault deny\n");
    g_autoptr(GByteArray) stream = stream_of((HelloSpec) { .name = NAME });

    hello_add_records(stream, 20, "\1", 1, 1);
    hello_add_records(stream, 23, "encrypted", 9, RECORD);
    connect_guest(w);
    guest_sends(w, stream->data, stream->len, RECORD);
    peer_has(w, stream->data, stream->len);
    g_assert_false(is_watched(w));
    /* The other name that leads here is not the one that it said. */
    fx_new_rules(w->fx, POLICY);
    vmrpc_server_end_refused(w->fx->srv);
    guest_sends(w, "more", 4, 4);
    peer_has(w, "more", 4);
    fx_new_rules(w->fx, "allow host tcp\n");
    vmrpc_server_end_refused(w->fx->srv);
    guest_sends(w, "more", 4, 4);
    peer_has(w, "more", 4);
    g_assert_cmpuint(traced.refusals, ==, 0);
    fx_new_rules(w->fx, "allow other.test tcp tls\ndefault deny\n");
    guest_sends(w, "kept", 4, 4);
    peer_has(w, "kept", 4);
    vmrpc_server_end_refused(w->fx->srv);
    assert_refused(w, EACCES, "other-name", NAME, 2);
    g_assert_cmpint(fx_wait_error(w->fx, 0), ==, ECONNRESET);
    assert_reset(w, 0);
    g_assert_cmpuint(fx_counters(w->fx)->connections_ended, ==, 1);
    vmrpc_server_end_refused(w->fx->srv);
    g_assert_cmpuint(fx_counters(w->fx)->connections_ended, ==, 1);
    world_free(w);
}

/* What has begun without a look cannot be allowed by what it said. */
static void test_end_unread(void)
{
    World *w = world_new("allow *.test tcp\ndefault deny\n");
    g_autoptr(GByteArray) stream = stream_of((HelloSpec) { .name = NAME });

    connect_guest(w);
    guest_sends(w, "plain", 5, 5);
    peer_has(w, "plain", 5);
    fx_new_rules(w->fx, POLICY);
    vmrpc_server_end_refused(w->fx->srv);
    assert_refused(w, EACCES, "no-name", "", 0);
    assert_reset(w, 0);
    hang_up(w);
    /* One whose hello is not whole yet has its turn. */
    connect_guest(w);
    guest_sends(w, stream->data, 9, 9);
    vmrpc_server_end_refused(w->fx->srv);
    guest_sends(w, stream->data + 9, stream->len - 9, RECORD);
    peer_has(w, stream->data, stream->len);
    /* So has another connection of the same socket. */
    hang_up(w);
    g_assert_cmpuint(traced.refusals, ==, 0);
    g_assert_cmpuint(fx_counters(w->fx)->connections_ended, ==, 1);
    world_free(w);
}

/* A second connect() changes nothing; after a disconnection all begins anew. */
static void test_connect_again(void)
{
    World *w = world_new(POLICY);
    g_autoptr(GByteArray) stream = stream_of((HelloSpec) { .name = NAME });
    struct vmrpc_req req;

    connect_guest(w);
    guest_sends(w, stream->data, 30, 30);
    g_assert_cmpint(fx_addr_op(w->fx, VMRPC_CONNECT, 0, fx_peer4(w->fx),
                               w->port).error, !=, EINPROGRESS);
    fx_fails(fx_addr_op(w->fx, VMRPC_CONNECT, 0, fx_peer4(w->fx), w->port),
             EISCONN);
    guest_sends(w, stream->data + 30, stream->len - 30, RECORD);
    peer_has(w, stream->data, stream->len);
    g_assert_true(is_watched(w));
    guest_sends(w, "\x17\x03\x03\0\1x", 6, 6);
    fx_fails(fx_addr_op(w->fx, VMRPC_CONNECT, 0, fx_peer4(w->fx), w->port),
             EISCONN);
    g_assert_false(is_watched(w));
    hang_up(w);

    connect_guest(w);
    guest_sends(w, stream->data, 30, 30);
    req = fx_req(w->fx, VMRPC_CONNECT, 0);
    fx_ok(fx_call(w->fx, &req, NULL, 0, NULL, 0));
    g_assert_cmpuint(w->fx->srv->first_bytes, ==, 0);
    fx_fails(fx_send(w->fx, 0, "x", 1), EACCES);        /* it is not TLS */
    close(w->fd);
    fx_addr_op(w->fx, VMRPC_CONNECT, 0, fx_peer4(w->fx), w->port);
    fx_wait(w->fx, 0, VMRPC_OUT);
    w->fd = accept(w->listener, NULL, NULL);
    guest_sends(w, stream->data, stream->len, RECORD);
    peer_has(w, stream->data, stream->len);
    world_free(w);
}

/* Another thread uses the host socket: it might send before the watch begins. */
static void test_other_user(void)
{
    World *w = world_new(POLICY);

    fx_ok(fx_socket(w->fx, 0, 1, SOCK_STREAM));
    w->fx->srv->socks[0]->users++;
    fx_fails(fx_addr_op(w->fx, VMRPC_CONNECT, 0, fx_peer4(w->fx), w->port),
             EALREADY);
    w->fx->srv->socks[0]->users--;
    world_free(w);
}

/* connect() goes on to another address of the name, which counts then. */
static void test_race(void)
{
    static const struct {
        const char *said, *reason;
    } cases[] = {
        { "both.test", NULL }, { NAME, "other-name" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        World *w = world_new("allow both.test tcp tls\ndefault deny\n");
        g_autoptr(GByteArray) stream = stream_of((HelloSpec) {
                                                     .name = cases[i].said });
        struct sockaddr_in6 at = { .sin6_family = AF_INET6,
                                   .sin6_port = htons(w->port) };
        int fd = socket(AF_INET6, SOCK_STREAM, 0);
        FxReply r;

        asked(w, "both.test", "::ffff:198.51.100.5");
        asked(w, "both.test", fx_peer6);
        close(w->listener);             /* the first address refuses */
        inet_pton(AF_INET6, OTHER6, &at.sin6_addr);
        g_assert_cmpint(bind(fd, (struct sockaddr *)&at, sizeof(at)), ==, 0);
        g_assert_cmpint(listen(fd, 1), ==, 0);
        w->listener = fd;
        /* All names of the first address have the other one. */
        asked(w, NAME, "::ffff:198.51.100.5");
        asked(w, NAME, fx_peer6);
        asked(w, OTHER, "::ffff:198.51.100.5");
        asked(w, OTHER, fx_peer6);
        fx_ok(fx_socket(w->fx, 0, 1, SOCK_STREAM));
        r = fx_addr_op(w->fx, VMRPC_CONNECT, 0, fx_peer4(w->fx), w->port);
        g_assert_true(r.error == 0 || r.error == EINPROGRESS);
        fx_wait(w->fx, 0, VMRPC_OUT);
        w->fd = accept(w->listener, NULL, NULL);
        g_assert_cmpint(w->fd, >=, 0);
        g_assert_true(is_watched(w));
        r = fx_send(w->fx, 0, stream->data, stream->len);
        if (cases[i].reason) {
            assert_refused(w, r.error, cases[i].reason, cases[i].said, 2);
            assert_reset(w, 0);
        } else {
            fx_ok(r);
            peer_has(w, stream->data, stream->len);
        }
        world_free(w);
    }
}

/* --- the audit log ---------------------------------------------------------- */

/* The lines of an event, from the names of their members "said" on */
static char *lines_of(const char *event)
{
    g_autofree char *wanted = g_strdup_printf("\"event\":\"%s\"", event);
    GString *found = g_string_new("");
    const char *text;
    size_t len;

    while ((len = vmrpc_audit_peek(audit, 0, &text))) {
        g_autofree char *copy = g_strndup(text, len);
        g_auto(GStrv) lines = g_strsplit(copy, "\n", -1);

        for (char **line = lines; *line; line++) {
            const char *said = strstr(*line, "\"said\":");

            if (strstr(*line, wanted) && said) {
                g_string_append_printf(found, "%s\n", said);
            }
        }
        vmrpc_audit_consume(audit, len);
    }
    return g_string_free(found, FALSE);
}

/* What is said has a line, once for each name, and also if it may not be. */
static void test_log(void)
{
    const VmrpcAuditConfig config = { .full = VMRPC_AUDIT_WAIT };
    g_autoptr(GByteArray) good = stream_of((HelloSpec) { .name = NAME,
                                                         .alpn = "h2" });
    g_autoptr(GByteArray) bad = stream_of((HelloSpec) { .name = OTHER });
    g_autofree char *tls = NULL, *refused = NULL, *http = NULL;
    World *w;

    audit = vmrpc_audit_new(&config);
    w = world_new(POLICY);
    connect_guest(w);
    guest_sends(w, good->data, good->len, 1);
    peer_has(w, good->data, good->len);
    tls = lines_of("said");
    g_assert_cmpstr(tls, ==, "\"said\":\"" NAME "\",\"says\":\"tls\","
                    "\"alpn\":\"h2\"}\n");
    hang_up(w);
    connect_guest(w);
    fx_fails(fx_send(w->fx, 0, bad->data, bad->len), EACCES);
    refused = lines_of("refused");
    g_assert_cmpstr(refused, ==, "\"said\":\"" OTHER "\"}\n");
    world_free(w);

    w = world_new(HTTP);
    connect_guest(w);
    for (unsigned i = 0; i < 3; i++) {
        guest_sends(w, HEAD "\r\n", strlen(HEAD "\r\n"), RECORD);
        peer_has(w, HEAD "\r\n", strlen(HEAD "\r\n"));
    }
    http = lines_of("said");
    g_assert_cmpstr(http, ==, "\"said\":\"" NAME "\",\"says\":\"http\"}\n");
    /* Another one waits for the log; the bytes of others do not. */
    vmrpc_audit_set_stuck(audit, true);
    fx_fails(fx_send(w->fx, 0, HEAD "\r\n", strlen(HEAD "\r\n")), EAGAIN);
    g_assert_true(peer_has_nothing(w));
    if (vmrpc_audit_set_stuck(audit, false)) {
        vmrpc_server_audit_has_room(w->fx->srv);
    }
    fx_wait(w->fx, 0, VMRPC_OUT);
    guest_sends(w, HEAD "\r\n", strlen(HEAD "\r\n"), RECORD);
    world_free(w);
    vmrpc_audit_free(audit);
    audit = NULL;
}

int main(int argc, char **argv)
{
    fx_init();
    g_test_init(&argc, &argv, NULL);
    if (!fx_has_namespace()) {
        return 77;
    }
    g_test_add_func("/server/first/parts", test_parts);
    g_test_add_func("/server/first/log", test_log);
    g_test_add_func("/server/first/server-first", test_server_first);
    g_test_add_func("/server/first/memory", test_memory);
    g_test_add_func("/server/first/no-room", test_no_room);
    g_test_add_func("/server/first/http", test_http);
    g_test_add_func("/server/first/pipelined", test_pipelined);
    g_test_add_func("/server/first/reasons", test_reasons);
    g_test_add_func("/server/first/ech", test_ech);
    g_test_add_func("/server/first/second-hello", test_second_hello);
    g_test_add_func("/server/first/flags", test_flags);
    g_test_add_func("/server/first/half-close", test_half_close);
    g_test_add_func("/server/first/late", test_late);
    g_test_add_func("/server/first/full", test_full);
    g_test_add_func("/server/first/other-rules", test_other_rules);
    g_test_add_func("/server/first/targets", test_targets);
    g_test_add_func("/server/first/reload", test_reload);
    g_test_add_func("/server/first/end-refused", test_end_refused);
    g_test_add_func("/server/first/end-unread", test_end_unread);
    g_test_add_func("/server/first/connect-again", test_connect_again);
    g_test_add_func("/server/first/other-user", test_other_user);
    g_test_add_func("/server/first/race", test_race);
    return g_test_run();
}
