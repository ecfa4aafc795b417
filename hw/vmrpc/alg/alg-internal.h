/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the gateways share: alg.c (streams), alg-ftp.c
 * (lines), alg-ftp-command.c (what they say), alg-sip.c (messages),
 * alg-sip-edit.c (addresses in them).
 */
#ifndef HW_VMRPC_ALG_INTERNAL_H
#define HW_VMRPC_ALG_INTERNAL_H

#include "hw/vmrpc/alg/alg.h"

#define VMRPC_ALG_DIRS          2

/*
 * The longest line of FTP that is looked at, with its end.  The longest that
 * could be rewritten, EPRT with an IPv6 address, has 60 bytes; replies have a
 * text beside the port.
 */
#define VMRPC_ALG_FTP_LINE_MAX  512

/*
 * The longest message of SIP over a stream that is rewritten.  An INVITE with
 * a full SDP has 1 to 4 KiB.
 */
#define VMRPC_ALG_SIP_MAX       (16 * 1024)

/* Passive commands of FTP without a reply yet; clients have one. */
#define VMRPC_ALG_FTP_PASSIVE_MAX 16

/* One direction of a stream. */
typedef struct VmrpcAlgFlow {
    GByteArray *held;           /* taken, not yet delivered; NULL: nothing */
    GByteArray *out;            /* to be delivered first; NULL: nothing */
    guint out_done;             /* bytes of it that have been */
    bool opaque;                /* all passes from here on */
    bool owing;                 /* the byte that completed out was not */
    uint8_t owed;               /* reported as taken; this one */
} VmrpcAlgFlow;

/*
 * A protocol.  Bytes of a stream either pass, unchanged and in place,
 * or are taken, to be released unchanged or replaced when their line or
 * message is complete.  What is decided must not depend on how the stream
 * is cut.
 */
typedef struct VmrpcAlgFilter {
    void (*init)(VmrpcAlg *alg);
    /* How many of the next bytes pass, whatever they are. */
    size_t (*blind)(const VmrpcAlg *alg, VmrpcAlgDir dir);
    /* How many of these pass; called when no bytes are held. */
    size_t (*scan)(const VmrpcAlg *alg, VmrpcAlgDir dir,
                   const uint8_t *data, size_t len);
    /* These have passed. */
    void (*passed)(VmrpcAlg *alg, VmrpcAlgDir dir,
                   const uint8_t *data, size_t len);
    /*
     * Takes from these, which do not pass; returns how many, > 0.  What it
     * leaves in out, if anything, is delivered before the next call.
     */
    size_t (*take)(VmrpcAlg *alg, VmrpcAlgDir dir,
                   const uint8_t *data, size_t len);
} VmrpcAlgFilter;

extern const VmrpcAlgFilter vmrpc_alg_ftp_filter;
extern const VmrpcAlgFilter vmrpc_alg_sip_filter;

/* Where a stream of FTP is in its line. */
typedef struct VmrpcAlgLine {
    uint8_t head[4];            /* how the line begins, without Telnet */
    uint8_t head_len;
    uint8_t telnet;             /* inside of a Telnet command */
} VmrpcAlgLine;

/* A PASV or EPSV whose reply has not come. */
typedef struct VmrpcAlgPassive {
    bool translated;            /* the guest sent PASV */
    unsigned ahead;             /* replies due before its, after the last's */
} VmrpcAlgPassive;

typedef struct VmrpcAlgFtp {
    VmrpcAlgLine line[VMRPC_ALG_DIRS];
    bool auth;                  /* the client sent AUTH */
    bool swallow;               /* inside of a reply that will be replaced */
    uint16_t port;              /* that was in it; 0: none yet */
    uint16_t multi;             /* code of the open multi-line reply, or 0 */
    unsigned outstanding;       /* replies due after the last passive one's */
    unsigned passive_num;
    VmrpcAlgPassive passive[VMRPC_ALG_FTP_PASSIVE_MAX];
} VmrpcAlgFtp;

typedef struct VmrpcAlgSip {
    size_t body_left[VMRPC_ALG_DIRS];   /* bytes that pass */
    size_t message_len[VMRPC_ALG_DIRS]; /* of the one held; 0: unknown */
    bool start_seen[VMRPC_ALG_DIRS];    /* its first line is one of SIP */
} VmrpcAlgSip;

struct VmrpcAlg {
    VmrpcAlgConfig config;
    const VmrpcAlgOps *ops;
    const VmrpcAlgFilter *filter;
    VmrpcAlgFlow flow[VMRPC_ALG_DIRS];
    union {
        VmrpcAlgFtp ftp;
        VmrpcAlgSip sip;
    };
};

/* --- alg.c: for filters --------------------------------------------------- */

/* Adds to what is held. */
void vmrpc_alg_hold(VmrpcAlgFlow *flow, const void *data, size_t len);

/* What is held goes on as it is. */
void vmrpc_alg_release(VmrpcAlgFlow *flow);

/* @out, which becomes the flow's, goes on in place of what is held. */
void vmrpc_alg_replace(VmrpcAlgFlow *flow, GByteArray *out);

/* What is held does not go on. */
void vmrpc_alg_drop(VmrpcAlgFlow *flow);

/* --- alg-ftp-command.c ---------------------------------------------------- */

/* A line that we write, without its end, and its NUL */
#define VMRPC_FTP_TEXT_MAX      128

/* A command that may be rewritten. */
typedef struct VmrpcFtpVerb VmrpcFtpVerb;

/* The one that a line begins with, as far as it is there; NULL: none. */
const VmrpcFtpVerb *vmrpc_ftp_find_verb(const VmrpcAlg *alg,
                                        const uint8_t *data, size_t len);

/*
 * Decides on a command, a private copy of a whole line, after it was counted.
 * True: it becomes @out, with the end it has.  False: it stays as it is, as
 * does what is no more than a verb without an end.
 */
bool vmrpc_ftp_rewrite(VmrpcAlg *alg, const uint8_t *data, size_t len,
                       char out[VMRPC_FTP_TEXT_MAX]);

/* The port in "text (|||port|)", 0 if there is none. */
unsigned vmrpc_ftp_find_port(const char *p);

/* --- alg-sip-edit.c ------------------------------------------------------- */

/* "IN IP6 " and the longest address */
#define VMRPC_SIP_TEXT_MAX      56

/* The bytes from @at on, @len of them, become @text. */
typedef struct VmrpcSipEdit {
    const char *at;
    size_t len;
    char text[VMRPC_SIP_TEXT_MAX];
} VmrpcSipEdit;

/* The edits of a message, by ascending place. */
typedef struct VmrpcSipEdits {
    const VmrpcAlgOps *ops;
    VmrpcAlgDir dir;
    bool full;                  /* there would have been more */
    unsigned addresses;         /* that were looked up */
    unsigned num;
    /* the addresses, and Content-Length */
    VmrpcSipEdit edit[VMRPC_ALG_ADDRESSES_MAX + 1];
} VmrpcSipEdits;

/* Adds an edit, behind those there are. */
void vmrpc_sip_edit(VmrpcSipEdits *edits, const char *at, size_t len,
                    const char *text);

/* The host of a SIP URI that is all of @p to @end. */
void vmrpc_sip_edit_uri(VmrpcSipEdits *edits, const char *p, const char *end);

/*
 * The hosts in the value of a header: of SIP URIs, and in parameters; if it
 * is a Via also sent-by.
 */
void vmrpc_sip_edit_value(VmrpcSipEdits *edits, const char *p,
                          const char *end, bool via);

/* The addresses of a session description. */
void vmrpc_sip_edit_sdp(VmrpcSipEdits *edits, const char *p, const char *end);

/* How much longer the text gets by the edits from @first on. */
ssize_t vmrpc_sip_edits_growth(const VmrpcSipEdits *edits, unsigned first);

/* The text with the edits applied. */
GByteArray *vmrpc_sip_edits_apply(const VmrpcSipEdits *edits, const char *p,
                                  const char *end);

/* Where linear white space (RFC 3261 section 25.1), folds too, ends. */
const char *vmrpc_sip_skip_lws(const char *p, const char *end);

#endif /* HW_VMRPC_ALG_INTERNAL_H */
