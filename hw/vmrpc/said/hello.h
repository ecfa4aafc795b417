/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ClientHello at the beginning of a TLS stream (RFC 8446, RFC 5246)
 *
 * The caller keeps a private copy of what the client sends, and asks with each
 * part that it adds:
 *
 *   VmrpcHello hello = { };
 *   VmrpcSaid said;
 *   for (;;) {
 *       switch (vmrpc_hello_look(&hello, kept, len, &said, &pass)) {
 *       MORE      send the first @pass octets on, keep the others, wait
 *       SAID      may the client say said.name?  If so, send the first @pass
 *                 octets on, and ask again with the others
 *       DONE      send everything on, from now on without asking
 *       REFUSED   hello.reason says why; send nothing more
 *       }
 *   }
 *
 * hello.c explains when it is done.
 */
#ifndef HW_VMRPC_HELLO_H
#define HW_VMRPC_HELLO_H

#include "hw/vmrpc/said/said.h"

/*
 * So many octets of encrypted records may follow a hello that offers early
 * data, and a second hello after them.  Servers skip 16 KiB.
 */
#define VMRPC_HELLO_EARLY_MAX   65536

/* The beginning of one stream; all zero before the first octet */
typedef struct VmrpcHello {
    VmrpcSaidReason reason;     /* of REFUSED */
    bool greeted;               /* a hello was complete */
    bool changed;               /* a ChangeCipherSpec has passed */
    bool keyed;                 /* so has a ClientKeyExchange: TLS 1.2 */
    uint32_t early_left;        /* octets of early data that may follow */
    /* Where the copy begins */
    uint32_t record_left;       /* octets of the record that has begun */
    uint8_t record_type;        /* of that record */
    uint32_t message_left;      /* octets of a message that is no hello */
} VmrpcHello;

/**
 * vmrpc_hello_look: look at what a client sends
 * @kept: all octets that were not sent on, at most VMRPC_SAID_KEEP_MAX
 * @said: what a hello says, with SAID
 * @pass: how many of the octets are to be sent on; 0 with REFUSED
 *
 * The octets must not change during the call.  MORE leaves fewer than
 * VMRPC_SAID_KEEP_MAX of them.
 */
VmrpcSaidStep vmrpc_hello_look(VmrpcHello *hello, const uint8_t *kept,
                                size_t len, VmrpcSaid *said, size_t *pass);

/**
 * vmrpc_hello_parse: a ClientHello message without its header
 * @said: what it says; also after a refusal, as far as it was read
 * @early: it offers early data
 *
 * For streams, and for QUIC, whose frames carry the same message.
 */
VmrpcSaidReason vmrpc_hello_parse(const uint8_t *body, size_t len,
                                  VmrpcSaid *said, bool *early);

#endif /* HW_VMRPC_HELLO_H */
