/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A NIC's side of the talk with its controller (vmmnet/cvsw.h)
 *
 * It proves who speaks, sees that each command is carried out once and in
 * order, and registers again when that is due. What commands do is the
 * caller's. Time is in ms, on any clock that only goes forward.
 */
#ifndef CVSW_CONTROL_SESSION_H
#define CVSW_CONTROL_SESSION_H

#include "hw/net/cvsw/control/message.h"

/* Between two registrations that nobody accepts, ms: it doubles up to these. */
#define CVSW_REGISTER_FIRST_MS  250u
#define CVSW_REGISTER_LAST_MS   30000u
/* HELLOs that come sooner after a registration change nothing, ms. */
#define CVSW_HELLO_MS           1000u

/* The reasons for which frames end here; each is counted. */
typedef enum CvswControlDrop {
    CVSW_CONTROL_MALFORMED,     /* no control frame of this version */
    CVSW_CONTROL_NOT_OURS,      /* for another NIC */
    CVSW_CONTROL_FORGED,        /* the tag is wrong */
    CVSW_CONTROL_NO_SESSION,    /* a command, and nobody was accepted yet */
    CVSW_CONTROL_EARLY,         /* commands before it have not come */
    CVSW_CONTROL_STALE,         /* answers a registration of old */
    CVSW_CONTROL_TOO_MANY,      /* HELLOs within CVSW_HELLO_MS */
    CVSW_CONTROL_DROPS,
} CvswControlDrop;

/** cvsw_control_drop_name: for people, and for QMP: "no-session" */
const char *cvsw_control_drop_name(CvswControlDrop drop);

typedef struct CvswAnswer {
    uint8_t type;               /* CVSW_ACK or CVSW_ERROR */
    size_t len;
    uint8_t payload[CVSW_PAYLOAD_MAX];
} CvswAnswer;

typedef struct CvswSessionOps {
    /* A frame for the wire. */
    void (*send)(void *opaque, const void *frame, size_t len);
    /* @len octets that nobody can guess. Returns: false if there are none */
    bool (*random)(void *opaque, void *buf, size_t len);
    /* All but the nonce of a registration, in host order. */
    void (*describe)(void *opaque, struct cvsw_register *about);
    /*
     * Carry out a command; @answer is of zeros. @secrets is the session's key
     * of SET_SA.
     */
    void (*command)(void *opaque, const CvswMessage *command,
                    const CvswSecret *secrets, CvswAnswer *answer);
} CvswSessionOps;

typedef struct CvswSession CvswSession;

/**
 * cvsw_session_new: a NIC that nobody has accepted yet
 * @key: CVSW_KEY_LEN_MIN octets or more; not kept
 * @mac: the NIC's, as configured
 *
 * Returns: NULL if libcrypto fails
 */
CvswSession *cvsw_session_new(const CvswSessionOps *ops, void *opaque,
                              const void *key, size_t key_len,
                              const uint8_t mac[6]);

/** cvsw_session_free: keys are overwritten; NULL is welcome */
void cvsw_session_free(CvswSession *session);

/** cvsw_session_begin: register soon: a link came up, the host is another */
void cvsw_session_begin(CvswSession *session, uint64_t now_ms);

/** cvsw_session_input: a control frame came from the wire */
void cvsw_session_input(CvswSession *session, const void *frame, size_t len,
                        uint64_t now_ms);

/**
 * cvsw_session_tick: do what is due
 *
 * Returns: when to call again; UINT64_MAX: not before something comes
 */
uint64_t cvsw_session_tick(CvswSession *session, uint64_t now_ms);

/**
 * cvsw_session_event: tell the controller something
 * @openflow: an OpenFlow message of @len octets, cut at CVSW_PAYLOAD_MAX
 *
 * Returns: false if no session is open
 */
bool cvsw_session_event(CvswSession *session, const void *openflow,
                        size_t len);

typedef struct CvswSessionStats {
    bool open;                  /* a controller has accepted the NIC */
    uint64_t heard_ms;          /* of its last message that was believed */
    uint64_t sessions, commands, repeated, errors, registrations, events;
    uint64_t drops[CVSW_CONTROL_DROPS];
} CvswSessionStats;

/** cvsw_session_stats: what was counted since the NIC is there */
const CvswSessionStats *cvsw_session_stats(const CvswSession *session);

#endif /* CVSW_CONTROL_SESSION_H */
