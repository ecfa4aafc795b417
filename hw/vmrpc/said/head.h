/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The heads of all requests of an HTTP/1 stream (RFC 9112)
 *
 * To be used as hello.h, but there is no DONE: the next request may name
 * another host.  Bodies need no copy: vmrpc_head_unread() says how many of the
 * octets that come next are of one.
 */
#ifndef HW_VMRPC_HEAD_H
#define HW_VMRPC_HEAD_H

#include "hw/vmrpc/said/said.h"

typedef enum VmrpcHeadStage {
    VMRPC_HEAD_HEAD,
    VMRPC_HEAD_BODY,
    VMRPC_HEAD_CHUNK,           /* the line with a chunk's size */
    VMRPC_HEAD_CHUNK_BODY,
    VMRPC_HEAD_CHUNK_END,       /* CRLF behind it */
    VMRPC_HEAD_LAST_END,        /* the empty line behind the last chunk */
} VmrpcHeadStage;

/* One stream; all zero before the first octet */
typedef struct VmrpcHead {
    VmrpcSaidReason reason;     /* of REFUSED */
    VmrpcHeadStage stage;
    uint64_t body_left;         /* octets of the body or chunk */
} VmrpcHead;

/**
 * vmrpc_head_look: look at what a client sends
 * @kept: all octets that were not sent on, at most VMRPC_SAID_KEEP_MAX
 * @said: the name in a head, with SAID
 * @pass: how many of the octets are to be sent on; 0 with REFUSED
 *
 * The octets must not change during the call.  SAID is at the end of a head.
 * MORE leaves fewer than VMRPC_SAID_KEEP_MAX of them.
 */
VmrpcSaidStep vmrpc_head_look(VmrpcHead *head, const uint8_t *kept, size_t len,
                              VmrpcSaid *said, size_t *pass);

/**
 * vmrpc_head_unread: how many octets pass unread, if nothing is kept
 * vmrpc_head_skip: @num of these have been sent
 */
uint64_t vmrpc_head_unread(const VmrpcHead *head);
void vmrpc_head_skip(VmrpcHead *head, uint64_t num);

#endif /* HW_VMRPC_HEAD_H */
