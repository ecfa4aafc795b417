/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: what the audit log is told
 *
 * Without a log each function here is one branch.
 */
#ifndef HW_VMRPC_EVIDENCE_H
#define HW_VMRPC_EVIDENCE_H

#include "hw/vmrpc/reach/judge.h"
#include "hw/vmrpc/said/said.h"
#include "hw/vmrpc/sock/state.h"

/*
 * May something begin?  Else its call has to wait: vmrpc_park(), and
 * vmrpc_server_audit_has_room() comes.
 */
static inline VMRPC_LOCKED bool vmrpc_evidence_admits(VmrpcServer *srv)
{
    return !srv->config.audit || vmrpc_audit_admits(srv->config.audit);
}

/*
 * vmrpc_dest_to_host() for @s.  The verdict stays in s->decided, for the lines
 * of this destination.
 */
VMRPC_LOCKED int vmrpc_evidence_dest(VmrpcServer *srv, VmrpcSock *s,
                                     const struct sockaddr_in *guest,
                                     struct sockaddr_storage *host,
                                     VmrpcPass *pass);

/* vmrpc_evidence_may_judge(), where there is a log. */
VMRPC_LOCKED bool vmrpc_evidence_asks(VmrpcServer *srv, VmrpcSock *s,
                                      const struct sockaddr_in *guest);

/*
 * Is there room for the line of a datagram to a peer that had none, if only that
 * it is refused?  If not, its call has to wait.
 */
static inline VMRPC_LOCKED bool
vmrpc_evidence_may_judge(VmrpcServer *srv, VmrpcSock *s,
                         const struct sockaddr_in *guest)
{
    return !srv->config.audit || vmrpc_evidence_asks(srv, s, guest);
}

/* The next two, where there is a log. */
VMRPC_LOCKED void vmrpc_evidence_tell_open(VmrpcServer *srv, VmrpcSock *s,
                                           const struct sockaddr_storage *peer,
                                           const VmrpcTerms *terms);
VMRPC_LOCKED void vmrpc_evidence_tell_close(VmrpcServer *srv, VmrpcSock *s);

/* @s begins to talk to @peer, on the host's side, by @terms (NULL: none). */
static inline VMRPC_LOCKED void
vmrpc_evidence_open(VmrpcServer *srv, VmrpcSock *s,
                    const struct sockaddr_storage *peer,
                    const VmrpcTerms *terms)
{
    if (srv->config.audit) {
        vmrpc_evidence_tell_open(srv, s, peer, terms);
    }
}

/* @s is closed, or will have another peer. */
static inline VMRPC_LOCKED void vmrpc_evidence_close(VmrpcServer *srv,
                                                     VmrpcSock *s)
{
    if (s->opened) {
        vmrpc_evidence_tell_close(srv, s);
    }
}

/* The guest takes a connection that @peer has begun. */
VMRPC_LOCKED void vmrpc_evidence_accept(VmrpcServer *srv, VmrpcSock *s,
                                        const struct sockaddr_storage *peer);

/* vmrpc_evidence_send() where there is a log. */
VMRPC_LOCKED int vmrpc_evidence_sends(VmrpcServer *srv, VmrpcSock *s,
                                      const struct sockaddr_storage *dest);

/*
 * @s is about to send to @dest, or to its peer if that is NULL.  Returns 0, or
 * -EAGAIN if that has to wait: a datagram may begin something, and a stream may
 * say a name.
 */
static inline VMRPC_LOCKED int
vmrpc_evidence_send(VmrpcServer *srv, VmrpcSock *s,
                    const struct sockaddr_storage *dest)
{
    return srv->config.audit && (s->type == SOCK_DGRAM || s->first)
           ? vmrpc_evidence_sends(srv, s, dest) : 0;
}

/*
 * The guest says this to @peer, or to the peer of the stream @s if that is
 * NULL, and may.  The stream remembers it.
 */
VMRPC_LOCKED void vmrpc_evidence_said(VmrpcServer *srv, VmrpcSock *s,
                                      const struct sockaddr_storage *peer,
                                      VmrpcSays says, const VmrpcSaid *said);

/* The policy or a limit refused something (VmrpcReachTracer). */
VMRPC_LOCKED void vmrpc_evidence_refused(VmrpcServer *srv,
                                         const VmrpcRefusal *refusal);

/*
 * The guest asks for @name.  @refused: it may not, for this reason; NULL: it
 * may.  @why: the policy's verdict, or NULL
 */
VMRPC_LOCKED void vmrpc_evidence_name(VmrpcServer *srv, const char *name,
                                      const DnsQuestion *question,
                                      const char *refused,
                                      const VmrpcVerdict *why);

/* The name leads to these addresses; an answer was validated. */
VMRPC_LOCKED void vmrpc_evidence_answer(VmrpcServer *srv, const DnsName *asked,
                                        const DnsProxyAddress *addrs,
                                        size_t num);
VMRPC_LOCKED void vmrpc_evidence_validated(VmrpcServer *srv,
                                           const DnsValidated *found);

/* The policy file was read; or was not, by @problem. */
VMRPC_LOCKED void vmrpc_evidence_policy(VmrpcServer *srv, const char *problem);

#endif /* HW_VMRPC_EVIDENCE_H */
