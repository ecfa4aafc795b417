/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Application-level gateways: addresses in messages of SIP
 *
 * A text is a private copy, from @p up to @end.  An edit points into it.
 */
#ifndef HW_VMRPC_ALG_SIP_EDIT_H
#define HW_VMRPC_ALG_SIP_EDIT_H

#include "hw/vmrpc/alg/alg-internal.h"

/* Bytes of "IN IP6 " and the longest address, with a NUL */
#define VMRPC_SIP_TEXT_MAX      56

/* @text replaces the @len bytes at @at. */
typedef struct VmrpcSipEdit {
    const char *at;
    size_t len;
    char text[VMRPC_SIP_TEXT_MAX];
} VmrpcSipEdit;

/* The edits of a message, in the order of their places */
typedef struct VmrpcSipEdits {
    const VmrpcAlgOps *ops;
    VmrpcAlgDir dir;
    bool full;                  /* the message has more addresses */
    unsigned addresses;         /* how many were looked up */
    unsigned num;
    /* the addresses, and Content-Length */
    VmrpcSipEdit edit[VMRPC_ALG_ADDRESSES_MAX + 1];
} VmrpcSipEdits;

/** vmrpc_sip_edit: append an edit; its place is behind all others */
void vmrpc_sip_edit(VmrpcSipEdits *edits, const char *at, size_t len,
                    const char *text);

/** vmrpc_sip_edit_uri: the host of a SIP URI, which is all of the text */
void vmrpc_sip_edit_uri(VmrpcSipEdits *edits, const char *p, const char *end);

/**
 * vmrpc_sip_edit_value: the hosts in the value of a header field
 * @via: the field is Via, which also has a sent-by
 *
 * The hosts of SIP URIs, and those in parameters.
 */
void vmrpc_sip_edit_value(VmrpcSipEdits *edits, const char *p,
                          const char *end, bool via);

/** vmrpc_sip_edit_sdp: the addresses of a session description */
void vmrpc_sip_edit_sdp(VmrpcSipEdits *edits, const char *p, const char *end);

/**
 * vmrpc_sip_edits_growth: bytes that the edits add to the text
 * @first: the first edit to count
 */
ssize_t vmrpc_sip_edits_growth(const VmrpcSipEdits *edits, unsigned first);

/** vmrpc_sip_edits_apply: a new text with the edits applied */
GByteArray *vmrpc_sip_edits_apply(const VmrpcSipEdits *edits, const char *p,
                                  const char *end);

/** vmrpc_sip_skip_lws: the end of linear white space (RFC 3261, 25.1) */
const char *vmrpc_sip_skip_lws(const char *p, const char *end);

#endif /* HW_VMRPC_ALG_SIP_EDIT_H */
