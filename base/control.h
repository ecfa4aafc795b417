/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control socket of a daemon: one server and one protocol for all
 *
 * A client sends lines: words separated by one blank.  Each line is answered in
 * order by the text that was asked for, if any, and a last line, which is "ok",
 * or "error" and the reason (docs/control.md).
 *
 * The server has one descriptor, which its owner's loop watches, whatever loop
 * it is; an event is handled without waiting.  Clients, their lines, and their
 * time are bounded; an answer of many parts is made as fast as it is read.
 */
#ifndef BASE_CONTROL_H
#define BASE_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define BASE_CONTROL_LINE_MAX   1024u   /* octets, including the newline */
#define BASE_CONTROL_WORDS_MAX  8u      /* in a line, with the verb */
#define BASE_CONTROL_MAX        256u    /* clients */
#define BASE_CONTROL_USER_MAX   64u     /* clients of a user other than root */
#define BASE_CONTROL_TIME       5u      /* s, for a line and its answer */

typedef struct BaseControl BaseControl;
typedef struct BaseControlClient BaseControlClient;

/** A request that is one line */
typedef struct BaseControlVerb {
    const char *name;           /* NULL: the end of the table */
    unsigned least, most;       /* words behind it */
    /*
     * Answers by base_control_printf() and its like.  Returns true for "ok", or
     * what base_control_fail() returns.
     */
    bool (*run)(void *opaque, BaseControlClient *c, char **words,
                unsigned count);
} BaseControlVerb;

typedef struct BaseControlOps {
    /*
     * Only root and the daemon's own user may use them.  A daemon whose lines
     * depend on each other takes them by @line instead.  "log" is of every
     * daemon (base/log.h).
     */
    const BaseControlVerb *verbs;
    /*
     * A line whose first word is no verb of the table; it writes the last line
     * of the answer, if there is one yet.  NULL: such a line is an error.
     */
    void (*line)(void *opaque, BaseControlClient *c, void *session,
                 const char *text, size_t len);
    /* The session of a client, for @line, or NULL: he is hung up on. */
    void *(*begin)(void *opaque, int fd, uid_t uid);
    void (*end)(void *opaque, void *session);
    /*
     * A line for the log, or NULL: base_log(); @good: it tells that something
     * is well again.
     */
    void (*log)(void *opaque, bool good, const char *text);
    /* The socket's file was removed, and made again; or NULL. */
    void (*again)(void *opaque);
} BaseControlOps;

/**
 * base_control_new: listen at @path
 * @mode: of the file, from its beginning; for base_listener_open()
 *
 * Returns: NULL with errno set
 */
BaseControl *base_control_new(const char *path, mode_t mode,
                              const BaseControlOps *ops, void *opaque);

/** base_control_free: close all, and remove the socket; may be NULL */
void base_control_free(BaseControl *s);

/** base_control_fd: it is readable when base_control_ready() has to be called */
int base_control_fd(const BaseControl *s);
void base_control_ready(BaseControl *s);

/**
 * base_control_tick: hang up on clients whose time is over, and make the
 * socket's file again if it was removed; call it once a second
 *
 * Returns: false if it was removed and cannot be made again, which is told
 */
bool base_control_tick(BaseControl *s);

/* --- answers: for the functions of BaseControlVerb and BaseControlOps ----- */

/** base_control_write, base_control_printf: append to the answer */
void base_control_write(BaseControlClient *c, const void *text, size_t len);
void base_control_printf(BaseControlClient *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/**
 * base_control_fail: end the answer with an error
 *
 * The last line of the reason is that of the answer.  Returns: false
 */
bool base_control_fail(BaseControlClient *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** The state of an answer after a part */
typedef enum BaseControlPart {
    BASE_CONTROL_MORE,          /* another part */
    BASE_CONTROL_LAST,          /* "ok" */
    BASE_CONTROL_FAILED,        /* nothing, after base_control_fail() */
} BaseControlPart;

/** A function that appends a part to an answer */
typedef BaseControlPart BaseControlMoreFn(void *state, BaseControlClient *c);

/**
 * base_control_stream: the rest of the answer is made in parts, when the client
 * has read those before
 * @end: frees @state, also when the client has gone
 */
void base_control_stream(BaseControlClient *c, BaseControlMoreFn *more,
                         void (*end)(void *state), void *state);

/* --- clients -------------------------------------------------------------- */

/**
 * base_control_ask: as a client, send a line and get its answer
 * @lines: of one request, without the last newline
 * @text: the answer without its last line, or the error's reason; to be freed.
 *        It is NULL if the server cannot be talked to.
 *
 * Returns: 0; -EREMOTEIO: the answer is an error; -EPROTO: it was cut off; or
 *          what the system says
 */
int base_control_ask(const char *path, const char *lines, char **text);

/**
 * base_control_show: the same as a command (base/args.h): print the answer, or
 * why there is none
 *
 * Returns: an exit code
 */
int base_control_show(const char *path, const char *lines);

#endif /* BASE_CONTROL_H */
