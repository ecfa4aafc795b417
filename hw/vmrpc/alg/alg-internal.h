/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Application-level gateways: the types of a stream and of its filters
 *
 *   alg.c              streams: between the guest, a filter and the host
 *   alg-ftp.c          the filter for FTP: lines, commands, replies
 *   alg-ftp-command.c  the commands of FTP
 *   alg-sip.c          the filter for SIP: messages; SIP in datagrams
 *   alg-sip-edit.c     addresses in messages of SIP
 *   alg-flow.c         the buffers of one direction
 */
#ifndef HW_VMRPC_ALG_INTERNAL_H
#define HW_VMRPC_ALG_INTERNAL_H

#include "hw/vmrpc/alg/alg.h"

#define VMRPC_ALG_DIRS          2

/*
 * Bytes of the longest line of FTP that a gateway looks at, with its end.
 * EPRT with an IPv6 address, the longest line that it could rewrite, has 60;
 * replies also have a text.
 */
#define VMRPC_ALG_FTP_LINE_MAX  512

/*
 * Bytes of the longest SIP message that a gateway rewrites in a stream.  An
 * INVITE with a full SDP has 1 to 4 KiB.
 */
#define VMRPC_ALG_SIP_MAX       (16 * 1024)

/* Passive commands of FTP whose reply is due; a usual client has one. */
#define VMRPC_ALG_FTP_PASSIVE_MAX 16

/* One direction of a stream */
typedef struct VmrpcAlgFlow {
    GByteArray *held;           /* taken and undecided; NULL: nothing */
    GByteArray *out;            /* to be delivered first; NULL: nothing */
    guint out_done;             /* bytes of @out that were delivered */
    bool opaque;                /* everything passes from here on */
    bool owing;                 /* the byte that completed @out is not yet */
    uint8_t owed;               /* reported as taken; its value */
} VmrpcAlgFlow;

/*
 * The filter of a protocol.
 *
 * Bytes of a stream either pass, unchanged and in place, or the filter takes
 * them.  When their line or message is complete, it releases what it took
 * unchanged, or replaces it.  Its decisions must not depend on how the stream
 * is cut into pieces.
 */
typedef struct VmrpcAlgFilter {
    void (*init)(VmrpcAlg *alg);
    /* How many of the next bytes pass, whatever their values? */
    size_t (*blind)(const VmrpcAlg *alg, VmrpcAlgDir dir);
    /* How many of these bytes pass?  Called only while no bytes are held. */
    size_t (*scan)(const VmrpcAlg *alg, VmrpcAlgDir dir,
                   const uint8_t *data, size_t len);
    /* These bytes have passed. */
    void (*passed)(VmrpcAlg *alg, VmrpcAlgDir dir,
                   const uint8_t *data, size_t len);
    /*
     * Takes from these bytes, which do not pass; returns how many, > 0.  If it
     * leaves anything in the flow's @out, that is delivered before the next
     * call.
     */
    size_t (*take)(VmrpcAlg *alg, VmrpcAlgDir dir,
                   const uint8_t *data, size_t len);
} VmrpcAlgFilter;

/* The current line of one direction of FTP */
typedef struct VmrpcAlgLine {
    uint8_t head[4];            /* its first bytes, without Telnet commands */
    uint8_t head_len;
    uint8_t telnet;             /* state of a Telnet command */
} VmrpcAlgLine;

/* A PASV or EPSV whose reply has not come */
typedef struct VmrpcAlgPassive {
    bool translated;            /* the guest sent PASV */
    /* replies due before its own, and after the previous passive command's */
    unsigned ahead;
} VmrpcAlgPassive;

typedef struct VmrpcAlgFtp {
    VmrpcAlgLine line[VMRPC_ALG_DIRS];
    bool auth;                  /* the client sent AUTH */
    bool swallow;               /* inside a reply that will be replaced */
    uint16_t port;              /* found in that reply; 0: none yet */
    uint16_t multi;             /* code of the open multi-line reply, or 0 */
    unsigned outstanding;       /* replies due after the last passive one's */
    unsigned passive_num;
    VmrpcAlgPassive passive[VMRPC_ALG_FTP_PASSIVE_MAX];
} VmrpcAlgFtp;

typedef struct VmrpcAlgSip {
    size_t body_left[VMRPC_ALG_DIRS];   /* bytes that pass */
    size_t message_len[VMRPC_ALG_DIRS]; /* of the message held; 0: unknown */
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

#endif /* HW_VMRPC_ALG_INTERNAL_H */
