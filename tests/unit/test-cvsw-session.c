/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A NIC's side of the session with its controller
 *
 * The controller is simulated in a few lines. The golden frames are those of
 * tests/unit/control/test_cvsw_wire.py.
 */
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "hw/net/cvsw/control/session.h"

static const uint8_t nic_mac[6] = { 2, 0, 0, 0, 0, 1 };
static const uint8_t our_mac[6] = { 2, 0, 0, 0, 0, 0xc };

#define REGISTER_FRAME \
    "03565357000102000000000188b54356535701020020000000000000000002000000" \
    "00010000000000000000000011111111111111111111111111111111000010000000" \
    "00400000000305aa0040a503ab0b5a68e106bccd0373282c0d58"
#define ACCEPT_FRAME \
    "02000000000102000000000c88b54356535701080020000000000000000002000000" \
    "00010000000000000000000011111111111111111111111111111111222222222222" \
    "222222222222222222225383187b779b5f1ed7f041ffcf590261"
#define ACCEPTED_FRAME \
    "03565357000102000000000188b54356535701090000000000000000000002000000" \
    "00010000000000000000000042" "0c9dda19fe2471af3c2eaa87545e9f"

typedef struct Fixture {
    CvswSession *session;
    uint8_t key[32], random;
    uint8_t sent[CVSW_FRAME_MAX];
    size_t sent_len;
    unsigned frames, commands;
    uint64_t last;              /* number of the last command */
    uint8_t answer;             /* type of the next answer */
    CvswSecret to_nic, from_nic;
} Fixture;

static void take_frame(void *opaque, const void *frame, size_t len)
{
    Fixture *f = opaque;

    memcpy(f->sent, frame, len);
    f->sent_len = len;
    f->frames++;
}

static bool make_random(void *opaque, void *buf, size_t len)
{
    Fixture *f = opaque;

    memset(buf, f->random, len);
    f->random += 0x10;
    return true;
}

static void describe(void *opaque, struct cvsw_register *about)
{
    about->entries_max = 4096;
    about->masks_max = 64;
    about->entries = 3;
    about->mtu = 1450;
    about->groups_max = 64;
}

static void carry_out(void *opaque, const CvswMessage *command,
                      const CvswSecret *secrets, CvswAnswer *answer)
{
    Fixture *f = opaque;

    f->commands++;
    f->last = command->sequence;
    answer->type = f->answer;
    answer->len = 1;
    answer->payload[0] = command->sequence;
}

static void setup(Fixture *f, gconstpointer data)
{
    static const CvswSessionOps ops = {
        .send = take_frame,
        .random = make_random,
        .describe = describe,
        .command = carry_out,
    };

    for (unsigned i = 0; i < sizeof(f->key); i++) {
        f->key[i] = i;
    }
    f->random = 0x11;
    f->answer = CVSW_ACK;
    f->session = cvsw_session_new(&ops, f, f->key, sizeof(f->key), nic_mac);
    g_assert_nonnull(f->session);
}

static void teardown(Fixture *f, gconstpointer data)
{
    cvsw_session_free(f->session);
}

static GBytes *octets(const char *hex)
{
    size_t len = strlen(hex) / 2;
    g_autofree uint8_t *buf = g_malloc(len);

    for (size_t i = 0; i < len; i++) {
        buf[i] = g_ascii_xdigit_value(hex[2 * i]) << 4 |
                 g_ascii_xdigit_value(hex[2 * i + 1]);
    }
    return g_bytes_new_take(g_steal_pointer(&buf), len);
}

static void assert_sent(const Fixture *f, const char *hex)
{
    g_autoptr(GBytes) want = octets(hex);
    gsize len;
    const void *data = g_bytes_get_data(want, &len);

    g_assert_cmpmem(f->sent, f->sent_len, data, len);
}

static uint64_t dropped(const Fixture *f, CvswControlDrop why)
{
    return cvsw_session_stats(f->session)->drops[why];
}

/* The keys of the session between the nonces @nic and @controller. */
static void derive(Fixture *f, uint8_t nic, uint8_t controller)
{
    uint8_t a[CVSW_NONCE_LEN], b[CVSW_NONCE_LEN];
    CvswSecret base, session;

    memset(a, nic, sizeof(a));
    memset(b, controller, sizeof(b));
    g_assert_true(cvsw_secret_derive(&base, f->key, sizeof(f->key),
                                     "vmmnet-cvsw-1", nic_mac, 6, NULL, 0));
    g_assert_true(cvsw_secret_derive(&session, &base, sizeof(base), "session",
                                     a, sizeof(a), b, sizeof(b)));
    g_assert_true(cvsw_secret_derive(&f->to_nic, &session, sizeof(session),
                                     "controller", NULL, 0, NULL, 0));
    g_assert_true(cvsw_secret_derive(&f->from_nic, &session, sizeof(session),
                                     "nic", NULL, 0, NULL, 0));
}

static void put_in(Fixture *f, uint8_t type, uint64_t sequence,
                   const void *payload, size_t len, uint64_t now_ms)
{
    uint8_t frame[CVSW_FRAME_MAX];
    CvswMessage message = {
        .type = type,
        .sequence = sequence,
        .payload = payload,
        .len = len,
    };
    size_t size;

    memcpy(message.mac, nic_mac, sizeof(nic_mac));
    size = cvsw_message_build(frame, nic_mac, our_mac, &message);
    g_assert_true(cvsw_message_sign(frame, size - CVSW_TAG_LEN, &f->to_nic));
    cvsw_session_input(f->session, frame, size, now_ms);
}

static void accept_nic(Fixture *f, uint8_t nic, uint8_t controller)
{
    struct cvsw_accept accept;

    derive(f, nic, controller);
    memset(accept.nic, nic, sizeof(accept.nic));
    memset(accept.controller, controller, sizeof(accept.controller));
    put_in(f, CVSW_ACCEPT, 0, &accept, sizeof(accept), 0);
}

static void open_session(Fixture *f)
{
    cvsw_session_begin(f->session, 0);
    cvsw_session_tick(f->session, 0);
    accept_nic(f, 0x11, 0x22);
    g_assert_true(cvsw_session_stats(f->session)->open);
    f->frames = 0;
}

static void command(Fixture *f, uint64_t sequence)
{
    put_in(f, CVSW_SET_ENTRY, sequence, "x", 1, 0);
}

/* The last frame sent answers a command, and its tag is correct. */
static void assert_answer(const Fixture *f, uint8_t type, uint64_t sequence)
{
    CvswMessage message;

    g_assert_true(cvsw_message_parse(&message, f->sent, f->sent_len));
    g_assert_true(cvsw_message_is_signed(f->sent, message.signed_len,
                                         &f->from_nic));
    g_assert_cmpint(message.type, ==, type);
    g_assert_cmpuint(message.sequence, ==, sequence);
    g_assert_cmpint(message.payload[0], ==, (uint8_t)sequence);
}

static void test_golden(Fixture *f, gconstpointer data)
{
    g_autoptr(GBytes) accept = octets(ACCEPT_FRAME);

    cvsw_session_begin(f->session, 0);
    g_assert_cmpuint(cvsw_session_tick(f->session, 0), ==,
                     CVSW_REGISTER_FIRST_MS);
    assert_sent(f, REGISTER_FRAME);
    cvsw_session_input(f->session, g_bytes_get_data(accept, NULL),
                       g_bytes_get_size(accept), 10);
    assert_sent(f, ACCEPTED_FRAME);
    g_assert_true(cvsw_session_stats(f->session)->open);
    g_assert_cmpuint(cvsw_session_tick(f->session, 1000), ==, UINT64_MAX);
}

/* Without an answer: retries with growing intervals and new nonces. */
static void test_registers_again(Fixture *f, gconstpointer data)
{
    uint64_t now = 0, next, wait = CVSW_REGISTER_FIRST_MS;
    uint8_t before[CVSW_FRAME_MAX] = { 0 };

    cvsw_session_begin(f->session, 0);
    for (unsigned i = 0; i < 12; i++) {
        next = cvsw_session_tick(f->session, now);
        g_assert_cmpint(f->frames, ==, i + 1);
        g_assert_cmpuint(next, ==, now + wait);
        g_assert_cmpint(memcmp(before, f->sent, f->sent_len), !=, 0);
        memcpy(before, f->sent, f->sent_len);
        g_assert_cmpuint(cvsw_session_tick(f->session, next - 1), ==, next);
        now = next;
        wait = MIN(2 * wait, CVSW_REGISTER_LAST_MS);
    }
}

static void test_commands(Fixture *f, gconstpointer data)
{
    open_session(f);
    command(f, 1);
    assert_answer(f, CVSW_ACK, 1);
    f->answer = CVSW_ERROR;
    command(f, 2);
    assert_answer(f, CVSW_ERROR, 2);
    g_assert_cmpint(f->commands, ==, 2);
    g_assert_cmpuint(cvsw_session_stats(f->session)->errors, ==, 1);
}

/* An answer was lost: it is repeated, and the command is not done twice. */
static void test_repeated(Fixture *f, gconstpointer data)
{
    open_session(f);
    f->answer = CVSW_ERROR;
    command(f, 1);
    f->answer = CVSW_ACK;
    for (unsigned i = 2; i <= CVSW_WINDOW; i++) {
        command(f, i);
    }
    command(f, 1);
    assert_answer(f, CVSW_ERROR, 1);
    command(f, CVSW_WINDOW);
    assert_answer(f, CVSW_ACK, CVSW_WINDOW);
    g_assert_cmpint(f->commands, ==, CVSW_WINDOW);
    /* A command whose answer the controller cannot await. */
    command(f, CVSW_WINDOW + 1);
    f->frames = 0;
    command(f, 1);
    command(f, 0);
    g_assert_cmpint(f->frames, ==, 0);
    g_assert_cmpint(f->commands, ==, CVSW_WINDOW + 1);
}

static void test_early(Fixture *f, gconstpointer data)
{
    open_session(f);
    command(f, 2);
    g_assert_cmpint(f->frames, ==, 0);
    g_assert_cmpint(f->commands, ==, 0);
    g_assert_cmpuint(dropped(f, CVSW_CONTROL_EARLY), ==, 1);
    command(f, 1);
    command(f, 2);
    g_assert_cmpint(f->commands, ==, 2);
}

/* The tag protects all bits of a frame. */
static void test_forged(Fixture *f, gconstpointer data)
{
    uint8_t frame[CVSW_FRAME_MAX];
    CvswMessage message = {
        .type = CVSW_SET_ENTRY,
        .sequence = 1,
        .payload = (const uint8_t *)"abc",
        .len = 3,
    };
    size_t len;

    open_session(f);
    memcpy(message.mac, nic_mac, sizeof(nic_mac));
    len = cvsw_message_build(frame, nic_mac, our_mac, &message);
    cvsw_message_sign(frame, len - CVSW_TAG_LEN, &f->to_nic);
    for (size_t bit = 0; bit < 8 * len; bit++) {
        frame[bit / 8] ^= 1 << bit % 8;
        cvsw_session_input(f->session, frame, len, 0);
        g_assert_cmpint(f->commands, ==, 0);
        frame[bit / 8] ^= 1 << bit % 8;
    }
    for (size_t cut = 0; cut < len; cut++) {
        cvsw_session_input(f->session, frame, cut, 0);
        g_assert_cmpint(f->commands, ==, 0);
    }
    g_assert_cmpuint(dropped(f, CVSW_CONTROL_FORGED), >, 0);
    g_assert_cmpuint(dropped(f, CVSW_CONTROL_MALFORMED), >, 0);
    g_assert_cmpuint(dropped(f, CVSW_CONTROL_NOT_OURS), >, 0);
    cvsw_session_input(f->session, frame, len, 0);
    g_assert_cmpint(f->commands, ==, 1);
    /* The NIC's own message is no command. */
    f->frames = 0;
    cvsw_session_input(f->session, f->sent, f->sent_len, 0);
    g_assert_cmpint(f->frames, ==, 0);
}

static void test_no_session(Fixture *f, gconstpointer data)
{
    derive(f, 0x11, 0x22);
    command(f, 1);
    g_assert_cmpint(f->commands, ==, 0);
    g_assert_cmpuint(dropped(f, CVSW_CONTROL_NO_SESSION), ==, 1);
}

/* An ACCEPT of an earlier registration is ignored. */
static void test_stale(Fixture *f, gconstpointer data)
{
    cvsw_session_begin(f->session, 0);
    cvsw_session_tick(f->session, 0);
    cvsw_session_tick(f->session, CVSW_REGISTER_FIRST_MS);
    accept_nic(f, 0x11, 0x22);
    g_assert_false(cvsw_session_stats(f->session)->open);
    g_assert_cmpuint(dropped(f, CVSW_CONTROL_STALE), ==, 1);
    accept_nic(f, 0x21, 0x22);
    g_assert_true(cvsw_session_stats(f->session)->open);
}

/* A controller without the key cannot accept. */
static void test_wrong_key(Fixture *f, gconstpointer data)
{
    cvsw_session_begin(f->session, 0);
    cvsw_session_tick(f->session, 0);
    f->key[0] ^= 1;
    accept_nic(f, 0x11, 0x22);
    g_assert_false(cvsw_session_stats(f->session)->open);
    g_assert_cmpuint(dropped(f, CVSW_CONTROL_FORGED), ==, 1);
}

static void say_hello(Fixture *f, uint64_t now_ms)
{
    static const uint8_t nics[6] = CVSW_NICS_MAC;
    uint8_t frame[CVSW_FRAME_MAX];
    CvswMessage message = { .type = CVSW_HELLO };
    size_t len = cvsw_message_build(frame, nics, our_mac, &message);

    cvsw_session_input(f->session, frame, len, now_ms);
}

/* Forged HELLOs cost a frame a second at most; the session goes on. */
static void test_hello(Fixture *f, gconstpointer data)
{
    open_session(f);
    for (uint64_t now = CVSW_HELLO_MS; now < 11 * CVSW_HELLO_MS; now += 100) {
        say_hello(f, now);
    }
    g_assert_cmpint(f->frames, ==, 10);
    g_assert_cmpuint(dropped(f, CVSW_CONTROL_TOO_MANY), ==, 90);
    command(f, 1);
    g_assert_cmpint(f->commands, ==, 1);
    assert_answer(f, CVSW_ACK, 1);
}

/* A restarted controller: numbers begin again, old frames are ignored. */
static void test_next_session(Fixture *f, gconstpointer data)
{
    open_session(f);
    command(f, 1);
    say_hello(f, CVSW_HELLO_MS);
    accept_nic(f, 0x21, 0x33);
    command(f, 1);
    g_assert_cmpint(f->commands, ==, 2);
    assert_answer(f, CVSW_ACK, 1);
    derive(f, 0x11, 0x22);
    command(f, 2);
    g_assert_cmpint(f->commands, ==, 2);
    g_assert_cmpuint(dropped(f, CVSW_CONTROL_FORGED), ==, 1);
}

/* The acknowledgement of an ACCEPT was lost. */
static void test_accepted_again(Fixture *f, gconstpointer data)
{
    open_session(f);
    accept_nic(f, 0x11, 0x22);
    g_assert_cmpint(f->frames, ==, 1);
    command(f, 1);
    f->frames = 0;
    /* Numbers continue. */
    accept_nic(f, 0x11, 0x22);
    command(f, 1);
    g_assert_cmpint(f->commands, ==, 1);
}

static void test_event(Fixture *f, gconstpointer data)
{
    CvswMessage message;

    g_assert_false(cvsw_session_event(f->session, "event", 5));
    open_session(f);
    for (unsigned i = 1; i <= 2; i++) {
        g_assert_true(cvsw_session_event(f->session, "event", 5));
        g_assert_true(cvsw_message_parse(&message, f->sent, f->sent_len));
        g_assert_cmpint(message.type, ==, CVSW_EVENT);
        g_assert_cmpuint(message.sequence, ==, i);
        g_assert_cmpmem(message.payload, message.len, "event", 5);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*test)(Fixture *f, gconstpointer data);
    } tests[] = {
        { "golden", test_golden },
        { "registers-again", test_registers_again },
        { "commands", test_commands },
        { "repeated", test_repeated },
        { "early", test_early },
        { "forged", test_forged },
        { "no-session", test_no_session },
        { "stale", test_stale },
        { "wrong-key", test_wrong_key },
        { "hello", test_hello },
        { "next-session", test_next_session },
        { "accepted-again", test_accepted_again },
        { "event", test_event },
    };

    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
        g_autofree char *path = g_strdup_printf("/cvsw/session/%s",
                                                tests[i].name);

        g_test_add(path, Fixture, NULL, setup, tests[i].test, teardown);
    }
    return g_test_run();
}
