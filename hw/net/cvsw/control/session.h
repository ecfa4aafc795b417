/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The NIC's side of the control protocol (vmmnet/cvsw.h)
 *
 * A session authenticates messages, executes each command exactly once and in
 * order, and repeats the registration when necessary.  The caller implements
 * the commands.  Times are in ms, of any monotonic clock.
 */
#ifndef CVSW_CONTROL_SESSION_H
#define CVSW_CONTROL_SESSION_H

#include "hw/net/cvsw/control/message.h"

/*
 * Delay between registrations without an ACCEPT, ms; doubles from FIRST to MAX.
 */
#define CVSW_REGISTER_FIRST_MS  250u
#define CVSW_REGISTER_LAST_MS   30000u
/* HELLOs sooner than this after a registration are ignored, ms. */
#define CVSW_HELLO_MS           1000u

/* Reasons to drop a control frame; one counter each. */
typedef enum CvswControlDrop {
    CVSW_CONTROL_MALFORMED,     /* not a control frame of this version */
    CVSW_CONTROL_NOT_OURS,      /* MAC address of another NIC */
    CVSW_CONTROL_FORGED,        /* wrong tag */
    CVSW_CONTROL_NO_SESSION,    /* a command without an open session */
    CVSW_CONTROL_EARLY,         /* commands before it are missing */
    CVSW_CONTROL_STALE,         /* answer to an old registration */
    CVSW_CONTROL_TOO_MANY,      /* a HELLO within CVSW_HELLO_MS */
    CVSW_CONTROL_DROPS,
} CvswControlDrop;

/** cvsw_control_drop_name: name for messages and QMP, e.g. "no-session" */
const char *cvsw_control_drop_name(CvswControlDrop drop);

typedef struct CvswAnswer {
    uint8_t type;               /* CVSW_ACK or CVSW_ERROR */
    size_t len;
    uint8_t payload[CVSW_PAYLOAD_MAX];
} CvswAnswer;

typedef struct CvswSessionOps {
    /* Send a frame to the wire. */
    void (*send)(void *opaque, const void *frame, size_t len);
    /* Fill in @len unpredictable octets. Returns: false on failure */
    bool (*random)(void *opaque, void *buf, size_t len);
    /*
     * Fill in all fields of a registration except the nonce, in host byte
     * order.
     */
    void (*describe)(void *opaque, struct cvsw_register *about);
    /*
     * Execute a command. @answer is zeroed. @secrets is the key of this session
     * for SET_SA.
     */
    void (*command)(void *opaque, const CvswMessage *command,
                    const CvswSecret *secrets, CvswAnswer *answer);
} CvswSessionOps;

typedef struct CvswSession CvswSession;

/**
 * cvsw_session_new: create the state of a NIC without a session
 * @key: CVSW_KEY_LEN_MIN octets or more; the session keeps no copy
 * @mac: the NIC's configured address
 *
 * Returns: NULL if libcrypto fails
 */
CvswSession *cvsw_session_new(const CvswSessionOps *ops, void *opaque,
                              const void *key, size_t key_len,
                              const uint8_t mac[6]);

/** cvsw_session_free: free and overwrite the keys; @session may be NULL */
void cvsw_session_free(CvswSession *session);

/** cvsw_session_begin: register soon, after link up or migration */
void cvsw_session_begin(CvswSession *session, uint64_t now_ms);

/** cvsw_session_input: process a control frame from the wire */
void cvsw_session_input(CvswSession *session, const void *frame, size_t len,
                        uint64_t now_ms);

/**
 * cvsw_session_tick: do what is due at @now_ms
 *
 * Returns: time of the next call; UINT64_MAX: not before the next input
 */
uint64_t cvsw_session_tick(CvswSession *session, uint64_t now_ms);

/**
 * cvsw_session_event: send a message to the controller
 * @openflow: an OpenFlow message of @len octets, truncated to CVSW_PAYLOAD_MAX
 *
 * Returns: false if no session is open
 */
bool cvsw_session_event(CvswSession *session, const void *openflow,
                        size_t len);

typedef struct CvswSessionStats {
    bool open;                  /* a controller has accepted the NIC */
    uint64_t heard_ms;          /* time of the last authentic message */
    uint64_t sessions, commands, repeated, errors, registrations, events;
    uint64_t drops[CVSW_CONTROL_DROPS];
} CvswSessionStats;

/** cvsw_session_stats: the counters since cvsw_session_new() */
const CvswSessionStats *cvsw_session_stats(const CvswSession *session);

#endif /* CVSW_CONTROL_SESSION_H */
