/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The policy file: the guest's destinations and limits
 *
 * One rule a line; the first one that matches decides:
 *
 *   allow|deny|watch  PREFIX|ADDR|NAME|host  [tcp|udp|icmp|dns|any]
 *               [PORT[-PORT]]  [tls|http]  [via PROXY] [sent BYTES[K|M|G]/h]
 *               [names N/h]
 *   default     allow|deny|watch
 *   dns         reachable|listed
 *   private-address  standard|PREFIX|ADDR
 *   private-domain   NAME
 *   ech         strip|refuse
 *   limit       connections|dns RATE/s [burst N]
 *   limit       sockets N
 *   limit       buffers BYTES[K|M|G]
 *   limit       sent|received BYTES[K|M|G]/s [burst BYTES[K|M|G]]
 *   proxy       NAME socks5|http ADDR PORT [secret ID]
 *
 * "watch" allows, and the audit log tells what "deny" would have refused.
 * '#' starts a comment. PREFIX and ADDR are IPv4 or IPv6; NAME is a DNS name
 * with a dot in it, "www.example.com" or "db." ("db" alone), or a wildcard,
 * "*.example.com": every name below example.com, not example.com itself;
 * "host" stands for the host's own addresses; "dns" for the question after
 * NAME, and no destination.  A "private-domain" is NAME and every name below
 * it; "standard" means the usual private networks.  Defaults: "default allow",
 * "dns reachable", no private addresses, "ech strip" and no limits.
 *
 * docs/vmrpc-policy.md describes the file for its authors.
 */
#ifndef HW_VMRPC_POLICY_PARSE_H
#define HW_VMRPC_POLICY_PARSE_H

#include <stddef.h>
#include <glib.h>

#include "hw/vmrpc/policy/policy.h"

#define VMRPC_POLICY_MAX_RULES 4096
#define VMRPC_POLICY_MAX_LINE  512              /* bytes */
#define VMRPC_POLICY_MAX_TEXT  (1024 * 1024)    /* bytes */

#define VMRPC_POLICY_ERROR vmrpc_policy_error_quark()
GQuark vmrpc_policy_error_quark(void);

typedef enum VmrpcPolicyError {
    VMRPC_POLICY_ERROR_INVALID, /* the message has the line and the reason */
} VmrpcPolicyError;

/**
 * vmrpc_policy_parse: read a policy file
 * @text: the file's bytes; they need not end in NUL or newline
 * @len: bytes, at most VMRPC_POLICY_MAX_TEXT
 * @name: the file's name, for errors ("NAME:LINE: ...")
 *
 * Returns: the policy, to be freed with vmrpc_policy_free(), or NULL.
 */
VmrpcPolicy *vmrpc_policy_parse(const char *text, size_t len,
                                const char *name, GError **errp);

#endif /* HW_VMRPC_POLICY_PARSE_H */
