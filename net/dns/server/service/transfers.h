/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Outgoing transfers on connections, a few messages in turn
 *
 * A connection is the transfer's until it ends.  All functions are for the
 * control thread.
 */
#ifndef NET_DNS_SERVER_SERVICE_TRANSFERS_H
#define NET_DNS_SERVER_SERVICE_TRANSFERS_H

#include "net/dns/server/service/keyring.h"
#include "net/dns/server/workers/request.h"
#include "net/dns/update/xfr/xfr-out.h"

#define DNSD_TRANSFERS_MAX  64

typedef struct DnsdTransfers DnsdTransfers;

/** dnsd_transfers_new: with @epoll, to be told by dnsd_transfers_ready(). */
DnsdTransfers *dnsd_transfers_new(int epoll);

/** dnsd_transfers_free: connections stay as they are. */
void dnsd_transfers_free(DnsdTransfers *transfers);

/**
 * dnsd_transfers_start: send all messages of @out
 * @request: over TCP; is given back at the end
 * @ring: has the key that signs
 *
 * Returns: false if there are too many; all is still the caller's.
 */
bool dnsd_transfers_start(DnsdTransfers *transfers, DnsdRequest *request,
                          DnsXfrOut *out, DnsdKeyring *ring);

/** dnsd_transfers_ready: false if the event is not of a transfer. */
bool dnsd_transfers_ready(DnsdTransfers *transfers, void *event);

/** dnsd_transfers_expire: end those whose client does not read. */
void dnsd_transfers_expire(DnsdTransfers *transfers);

#endif /* NET_DNS_SERVER_SERVICE_TRANSFERS_H */
