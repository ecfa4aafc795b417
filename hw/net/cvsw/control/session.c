/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The NIC's side of the control protocol
 *
 * Theory of operation
 * ===================
 *
 * Two states are independent of each other: whether a registration waits for
 * its ACCEPT (@wanted), and whether a session is open (@stats.open).  A
 * controller that restarts sends HELLO.  The NIC then registers, and the old
 * session stays open until the ACCEPT arrives.  So a forged HELLO costs at most
 * one frame a second.
 *
 * The NIC executes a command if its sequence number follows the last one.  It
 * keeps the answers to the last CVSW_WINDOW commands: if one of these commands
 * arrives again, its answer was lost, and the NIC repeats it.  Older commands
 * get no answer: the controller has received their answers, or it would not
 * have sent later commands.  An ERROR does not stop the commands after it.
 */
#include <glib.h>
#include <string.h>

#include "hw/net/cvsw/control/session.h"
#include "base/octets.h"

static const uint8_t controller_mac[6] = CVSW_CONTROLLER_MAC;
static const uint8_t nics_mac[6] = CVSW_NICS_MAC;

struct CvswSession {
    const CvswSessionOps *ops;
    void *opaque;
    uint8_t mac[6];
    CvswSecret base, base_out;  /* @base_out signs registrations */
    bool wanted;                /* a registration waits for its ACCEPT */
    uint8_t nonce[CVSW_NONCE_LEN];      /* of the pending registration */
    uint64_t next_ms;           /* time of the next registration */
    uint64_t hello_ms;          /* ignore HELLOs before this time */
    uint64_t wait_ms;
    CvswSecret in, out, secrets;        /* keys of the session */
    uint64_t sequence;          /* of the last command that was executed */
    /* to the last commands, by sequence number */
    CvswAnswer answers[CVSW_WINDOW];
    CvswSessionStats stats;
};

const char *cvsw_control_drop_name(CvswControlDrop drop)
{
    static const char *const names[CVSW_CONTROL_DROPS] = {
        [CVSW_CONTROL_MALFORMED] = "malformed",
        [CVSW_CONTROL_NOT_OURS] = "not-ours",
        [CVSW_CONTROL_FORGED] = "forged",
        [CVSW_CONTROL_NO_SESSION] = "no-session",
        [CVSW_CONTROL_EARLY] = "early",
        [CVSW_CONTROL_STALE] = "stale",
        [CVSW_CONTROL_TOO_MANY] = "too-many",
    };

    return names[drop];
}

CvswSession *cvsw_session_new(const CvswSessionOps *ops, void *opaque,
                              const void *key, size_t key_len,
                              const uint8_t mac[6])
{
    CvswSession *s = g_new0(CvswSession, 1);

    s->ops = ops;
    s->opaque = opaque;
    memcpy(s->mac, mac, sizeof(s->mac));
    if (!cvsw_secret_derive(&s->base, key, key_len, "vmmnet-cvsw-1", mac, 6,
                            NULL, 0) ||
        !cvsw_secret_derive(&s->base_out, &s->base, sizeof(s->base), "nic",
                            NULL, 0, NULL, 0)) {
        cvsw_session_free(s);
        return NULL;
    }
    return s;
}

void cvsw_session_free(CvswSession *s)
{
    if (s) {
        cvsw_secret_wipe(&s->base);
        cvsw_secret_wipe(&s->base_out);
        cvsw_secret_wipe(&s->in);
        cvsw_secret_wipe(&s->out);
        cvsw_secret_wipe(&s->secrets);
        g_free(s);
    }
}

const CvswSessionStats *cvsw_session_stats(const CvswSession *s)
{
    return &s->stats;
}

static void drop(CvswSession *s, CvswControlDrop why)
{
    s->stats.drops[why]++;
}

/* Returns: false, and nothing was sent, if libcrypto failed */
static bool send_message(CvswSession *s, const CvswMessage *message,
                         const CvswSecret *secret)
{
    uint8_t frame[CVSW_FRAME_MAX];
    size_t len = cvsw_message_build(frame, controller_mac, s->mac, message);

    if (!cvsw_message_sign(frame, len - CVSW_TAG_LEN, secret)) {
        return false;
    }
    s->ops->send(s->opaque, frame, len);
    return true;
}

/* --- registration --------------------------------------------------------- */

static void send_registration(CvswSession *s)
{
    struct cvsw_register about = { 0 };
    CvswMessage message = {
        .type = CVSW_REGISTER,
        .payload = (const uint8_t *)&about,
        .len = sizeof(about),
    };

    s->ops->describe(s->opaque, &about);
    put_be32(&about.entries_max, about.entries_max);
    put_be32(&about.masks_max, about.masks_max);
    put_be32(&about.entries, about.entries);
    put_be16(&about.mtu, about.mtu);
    put_be16(&about.groups_max, about.groups_max);
    memcpy(about.nonce, s->nonce, sizeof(about.nonce));
    memcpy(message.mac, s->mac, sizeof(message.mac));
    if (send_message(s, &message, &s->base_out)) {
        s->stats.registrations++;
    }
}

static void register_now(CvswSession *s, uint64_t now_ms)
{
    s->next_ms = now_ms + s->wait_ms;
    s->wait_ms = MIN(2 * s->wait_ms, CVSW_REGISTER_LAST_MS);
    s->hello_ms = now_ms + CVSW_HELLO_MS;
    if (s->ops->random(s->opaque, s->nonce, sizeof(s->nonce))) {
        send_registration(s);
    }
}

void cvsw_session_begin(CvswSession *s, uint64_t now_ms)
{
    s->wanted = true;
    s->wait_ms = CVSW_REGISTER_FIRST_MS;
    s->next_ms = now_ms;
}

uint64_t cvsw_session_tick(CvswSession *s, uint64_t now_ms)
{
    if (!s->wanted) {
        return UINT64_MAX;
    }
    if (now_ms >= s->next_ms) {
        register_now(s, now_ms);
    }
    return s->next_ms;
}

static void take_hello(CvswSession *s, uint64_t now_ms)
{
    if (now_ms < s->hello_ms) {
        drop(s, CVSW_CONTROL_TOO_MANY);
        return;
    }
    cvsw_session_begin(s, now_ms);
    register_now(s, now_ms);
}

/* Derives the keys of a session from the nonces of both sides. */
static bool derive_session(const CvswSession *s, const uint8_t *theirs,
                           CvswSecret *in, CvswSecret *out,
                           CvswSecret *secrets)
{
    CvswSecret session;
    bool done;

    done = cvsw_secret_derive(&session, &s->base, sizeof(s->base), "session",
                              s->nonce, CVSW_NONCE_LEN, theirs,
                              CVSW_NONCE_LEN) &&
           cvsw_secret_derive(in, &session, sizeof(session), "controller",
                              NULL, 0, NULL, 0) &&
           cvsw_secret_derive(out, &session, sizeof(session), "nic", NULL, 0,
                              NULL, 0) &&
           cvsw_secret_derive(secrets, &session, sizeof(session), "secrets",
                              NULL, 0, NULL, 0);
    cvsw_secret_wipe(&session);
    return done;
}

static void open_session(CvswSession *s, const CvswSecret *in,
                         const CvswSecret *out, const CvswSecret *secrets)
{
    s->in = *in;
    s->out = *out;
    s->secrets = *secrets;
    s->sequence = 0;
    s->wanted = false;
    s->stats.open = true;
    s->stats.sessions++;
}

/*
 * An acknowledgement with number 0 tells the controller that the session is
 * open.
 */
static void answer_accept(CvswSession *s)
{
    CvswMessage message = { .type = CVSW_ACK };

    memcpy(message.mac, s->mac, sizeof(message.mac));
    send_message(s, &message, &s->out);
}

static void take_accept(CvswSession *s, const void *frame,
                        const CvswMessage *message, uint64_t now_ms)
{
    struct cvsw_accept accept;
    CvswSecret in, out, secrets;

    if (message->len != sizeof(accept)) {
        drop(s, CVSW_CONTROL_MALFORMED);
        return;
    }
    memcpy(&accept, message->payload, sizeof(accept));
    if (memcmp(accept.nic, s->nonce, sizeof(accept.nic)) != 0) {
        drop(s, CVSW_CONTROL_STALE);
        return;
    }
    if (!derive_session(s, accept.controller, &in, &out, &secrets) ||
        !cvsw_message_is_signed(frame, message->signed_len, &in)) {
        drop(s, CVSW_CONTROL_FORGED);
    } else if (s->wanted) {
        open_session(s, &in, &out, &secrets);
        s->stats.heard_ms = now_ms;
        answer_accept(s);
    } else if (s->sequence == 0) {
        answer_accept(s);       /* the first acknowledgement was lost */
    }
    cvsw_secret_wipe(&in);
    cvsw_secret_wipe(&out);
    cvsw_secret_wipe(&secrets);
}

/* --- commands ------------------------------------------------------------- */

static CvswAnswer *answer_to(CvswSession *s, uint64_t sequence)
{
    return &s->answers[sequence % CVSW_WINDOW];
}

static void send_answer(CvswSession *s, uint64_t sequence)
{
    const CvswAnswer *answer = answer_to(s, sequence);
    CvswMessage message = {
        .type = answer->type,
        .sequence = sequence,
        .payload = answer->payload,
        .len = answer->len,
    };

    memcpy(message.mac, s->mac, sizeof(message.mac));
    send_message(s, &message, &s->out);
}

static void carry_out(CvswSession *s, const CvswMessage *command)
{
    CvswAnswer *answer = answer_to(s, command->sequence);

    memset(answer, 0, sizeof(*answer));
    s->ops->command(s->opaque, command, &s->secrets, answer);
    s->sequence = command->sequence;
    s->stats.commands++;
    if (answer->type == CVSW_ERROR) {
        s->stats.errors++;
    }
    send_answer(s, command->sequence);
}

static void repeat_answer(CvswSession *s, uint64_t sequence)
{
    s->stats.repeated++;
    if (sequence && s->sequence - sequence < CVSW_WINDOW) {
        send_answer(s, sequence);
    }
}

static void take_command(CvswSession *s, const void *frame,
                         const CvswMessage *message, uint64_t now_ms)
{
    if (!s->stats.open) {
        drop(s, CVSW_CONTROL_NO_SESSION);
        return;
    }
    if (!cvsw_message_is_signed(frame, message->signed_len, &s->in)) {
        drop(s, CVSW_CONTROL_FORGED);
        return;
    }
    s->stats.heard_ms = now_ms;
    if (message->sequence == s->sequence + 1) {
        carry_out(s, message);
    } else if (message->sequence > s->sequence) {
        drop(s, CVSW_CONTROL_EARLY);
    } else {
        repeat_answer(s, message->sequence);
    }
}

void cvsw_session_input(CvswSession *s, const void *frame, size_t len,
                        uint64_t now_ms)
{
    CvswMessage message;
    const uint8_t *dst = frame;

    if (!cvsw_message_parse(&message, frame, len)) {
        drop(s, CVSW_CONTROL_MALFORMED);
    } else if (memcmp(dst, s->mac, 6) != 0 && memcmp(dst, nics_mac, 6) != 0) {
        drop(s, CVSW_CONTROL_NOT_OURS);
    } else if (message.type == CVSW_HELLO) {
        take_hello(s, now_ms);
    } else if (memcmp(message.mac, s->mac, 6) != 0) {
        drop(s, CVSW_CONTROL_NOT_OURS);
    } else if (message.type == CVSW_ACCEPT) {
        take_accept(s, frame, &message, now_ms);
    } else {
        take_command(s, frame, &message, now_ms);
    }
}

bool cvsw_session_event(CvswSession *s, const void *openflow, size_t len)
{
    CvswMessage message = {
        .type = CVSW_EVENT,
        .sequence = s->stats.events + 1,
        .payload = openflow,
        .len = MIN(len, CVSW_PAYLOAD_MAX),
    };

    memcpy(message.mac, s->mac, sizeof(message.mac));
    if (!s->stats.open || !send_message(s, &message, &s->out)) {
        return false;
    }
    s->stats.events++;
    return true;
}
