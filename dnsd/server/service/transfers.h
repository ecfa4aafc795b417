/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Outgoing transfers over TCP, some messages per turn
 *
 * A transfer owns its connection until it ends.  All functions are for the
 * control thread.
 */
#ifndef DNSD_SERVER_SERVICE_TRANSFERS_H
#define DNSD_SERVER_SERVICE_TRANSFERS_H

#include "dnsd/server/service/keyring.h"
#include "dnsd/server/service/refusals.h"
#include "dnsd/server/workers/request.h"
#include "dnsd/update/xfr/xfr-out.h"

#define DNSD_TRANSFERS_MAX  64
#define DNSD_TRANSFER_TEXT_MAX  (2 * DNSD_PEER_TEXT_MAX)

typedef struct DnsdTransfers DnsdTransfers;

/** dnsd_transfers_new: @epoll reports events, for dnsd_transfers_ready() */
DnsdTransfers *dnsd_transfers_new(int epoll);

/** dnsd_transfers_free: connections are not closed */
void dnsd_transfers_free(DnsdTransfers *transfers);

/**
 * dnsd_transfers_start: send all messages of @out
 * @request: over TCP; it is returned at the end
 * @ring: has the key that signs
 * @text: what it is, to whom; the log has it with the end
 *
 * Returns: false if there are too many; the caller keeps all arguments.
 */
bool dnsd_transfers_start(DnsdTransfers *transfers, DnsdRequest *request,
                          DnsXfrOut *out, DnsdKeyring *ring,
                          const char *text);

/** dnsd_transfers_ready: handle an event; false if it is not for this module */
bool dnsd_transfers_ready(DnsdTransfers *transfers, void *event);

/** dnsd_transfers_count: count one that was answered elsewhere */
void dnsd_transfers_count(DnsdTransfers *transfers, const DnsXfrOut *out,
                          bool is_done);

void dnsd_transfers_metrics(const DnsdTransfers *transfers, DnsdText *text);

/** dnsd_transfers_expire: end transfers whose client does not read */
void dnsd_transfers_expire(DnsdTransfers *transfers);

#endif /* DNSD_SERVER_SERVICE_TRANSFERS_H */
