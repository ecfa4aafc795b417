/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Refusals: how they are counted and logged */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "dnsd/server/service/refusals.h"

/* Ten at once, then one in six seconds */
static const BaseLogRate rate = { 6 * SECOND, 10 };

static const char *const words[DNSD_REFUSALS] = {
    [DNSD_REFUSED_TRANSFER] = "transfer",
    [DNSD_REFUSED_NOTIFY] = "notify",
    [DNSD_REFUSED_UPDATE] = "update",
    [DNSD_REFUSED_BADSIG] = "badsig",
    [DNSD_REFUSED_BADKEY] = "badkey",
    [DNSD_REFUSED_BADTIME] = "badtime",
    [DNSD_REFUSED_BADTRUNC] = "badtrunc",
};

/* The text behind the zone or the peer, with the key to look at */
static const char *const texts[DNSD_REFUSALS] = {
    [DNSD_REFUSED_TRANSFER] = "a transfer is refused: 'allow-transfer' does "
                              "not have",
    [DNSD_REFUSED_NOTIFY] = "NOTIFY is refused: neither 'primaries' nor "
                            "'allow-notify' have",
    [DNSD_REFUSED_UPDATE] = "an update is refused: the zone has no "
                            "'allow-update'; it is of",
    [DNSD_REFUSED_BADSIG] = "BADSIG: the secret or the message is another "
                            "one",
    [DNSD_REFUSED_BADKEY] = "BADKEY: there is no such key, or of another "
                            "algorithm",
    [DNSD_REFUSED_BADTIME] = "BADTIME: the clocks differ by more than it "
                             "allows",
    [DNSD_REFUSED_BADTRUNC] = "BADTRUNC: the signature is shorter than the "
                              "key's",
};

void dnsd_peer_text(const DnsdAddr *from, const DnsName *key,
                    char text[DNSD_PEER_TEXT_MAX])
{
    bool is4 = dnsd_addr_is4(from);
    char address[INET6_ADDRSTRLEN], name[DNS_NAME_TEXT_MAX];

    inet_ntop(is4 ? AF_INET : AF_INET6, from->octets + (is4 ? 12 : 0),
              address, sizeof(address));
    if (key) {
        dns_name_to_text(key, name);
    }
    snprintf(text, DNSD_PEER_TEXT_MAX, "%s%s%s", address,
             key ? " with the key " : "", key ? name : "");
}

void dnsd_refuse(DnsdRefusals *r, DnsdRefusal kind, const DnsdAddr *from,
                 const DnsName *name, const DnsName *key)
{
    char peer[DNSD_PEER_TEXT_MAX], text[DNS_NAME_TEXT_MAX], more[64] = "";

    r->count[kind]++;
    if (!base_log_may(&r->limit, &rate, base_clock(CLOCK_MONOTONIC))) {
        return;
    }
    if (r->limit.left_out) {
        snprintf(more, sizeof(more), "; %" PRIu64 " more were not logged",
                 r->limit.left_out);
        r->limit.left_out = 0;
    }
    if (kind >= DNSD_REFUSED_BADSIG) {
        dnsd_peer_text(from, name, peer);
        base_log(LOG_WARNING, "a request of %s: %s%s", peer, texts[kind],
                 more);
    } else {
        dnsd_peer_text(from, key, peer);
        dns_name_to_text(name, text);
        base_log(LOG_WARNING, "zone %s: %s %s%s", text, texts[kind], peer,
                 more);
    }
}

void dnsd_refusals_metrics(const DnsdRefusals *r, DnsdText *text)
{
    dnsd_metrics_counts(text, r->count, "refused_total", "reason", words,
                        DNSD_REFUSALS);
}
