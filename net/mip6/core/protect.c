/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ESP for a home address (RFC 3776, RFC 4877)
 *
 * Theory of operation
 * ===================
 *
 *   Binding Update       IPv6 | DestOpt(HAO) | ESP | MH        transport mode
 *   Acknowledgement      IPv6 | RH2          | ESP | MH        transport mode
 *   payload              IPv6                | ESP | IPv6 ...  tunnel mode
 *
 * A packet's association is found by its SPI only. Addresses are not used for
 * that: the care-of address changes with each move, and the keys stay (RFC 3776
 * section 4.3, the K bit). The selector of signalling is the home address in
 * HAO or RH2, and the selector of the tunnel is the inner address; the caller
 * must compare them with the home address of the associations.
 *
 * A decrypted packet gets its original headers back, as if ESP had not been
 * used. So the code that parses it next is the code for unprotected packets; it
 * only needs to know which association the packet came by.
 *
 * Keys are configured, without IKE. So a side that restarts does not know its
 * old sequence numbers, but must not use a GCM nonce twice, and its packets
 * must not look like replays:
 *
 *   nonces      contain the epoch, see net/esp/esp.c.
 *   signalling  starts with the epoch as its first sequence number, not with 1.
 *               Less than one message a second is sent, so the numbers after a
 *               restart are higher, and the peer may use a replay window.
 *   the tunnel  starts with 1, and its receiver uses no replay window. IPv6
 *   does
 *               not guarantee that a packet is delivered only once.
 */
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

#include "net/mip6/core/protect.h"
#include "base/octets.h"

/* Maximum length of a signalling packet. */
#define SIGNAL_MAX      1500u
/*
 * Sequence numbers that stay with a host that hands over. For signalling, they
 * must be fewer than the peer's window. The tunnel has no window: the number is
 * large enough for all packets that the old host may send after the VM has
 * left.
 */
#define KEEP_SIGNAL     32u
#define KEEP_TUNNEL     (1u << 16)
/* Packets in flight: three seconds of 1 Gbit/s. */
#define RECENT          (1u << 18)

struct Mip6Protect {
    EspSa *sa[MIP6_PROTECT_SAS];
    EspSaConfig again;          /* tunnel, outbound: for a restart */
    uint8_t key[ESP_KEY_MAX];
};

static bool is_out(Mip6ProtectSa which)
{
    return which == MIP6_SIGNAL_OUT || which == MIP6_TUNNEL_OUT;
}

const char *mip6_protect_sa_name(Mip6ProtectSa which)
{
    static const char *const names[] = {
        [MIP6_SIGNAL_OUT] = "signal-out",
        [MIP6_SIGNAL_IN] = "signal-in",
        [MIP6_TUNNEL_OUT] = "tunnel-out",
        [MIP6_TUNNEL_IN] = "tunnel-in",
    };

    return names[which];
}

/* Those of signalling are the first. */
static unsigned sas(const Mip6ProtectConfig *config)
{
    return config->signal_only ? MIP6_TUNNEL_OUT : MIP6_PROTECT_SAS;
}

const EspSa *mip6_protect_sa(const Mip6Protect *p, Mip6ProtectSa which)
{
    return p->sa[which];
}

/* --- creation ------------------------------------------------------------- */

/* Two associations with the same GCM key would use the same nonces. */
static bool share_key(const Mip6ProtectSaConfig *a,
                      const Mip6ProtectSaConfig *b)
{
    return a->algorithm == b->algorithm &&
           a->algorithm->cipher == ESP_CIPHER_AES_GCM &&
           !CRYPTO_memcmp(a->key, b->key, a->algorithm->key_len);
}

static bool is_unique(const Mip6ProtectConfig *config, Mip6ProtectSa which,
                      Mip6ProtectFault *fault)
{
    const Mip6ProtectSaConfig *mine = &config->sa[which];

    for (unsigned i = 0; i < which; i++) {
        const Mip6ProtectSaConfig *other = &config->sa[i];

        fault->is_key = share_key(mine, other);
        if (fault->is_key) {
            snprintf(fault->text, sizeof(fault->text), "is the key of %s, too: "
                     "each needs its own", mip6_protect_sa_name(i));
            return false;
        }
        if (is_out(i) == is_out(which) && mine->spi == other->spi) {
            snprintf(fault->text, sizeof(fault->text), "is the SPI of %s, too: "
                     "each needs its own", mip6_protect_sa_name(i));
            return false;
        }
    }
    return true;
}

/* Compares @mine with an association of another home address. */
static bool differ(const Mip6ProtectSaConfig *mine, Mip6ProtectSa which,
                   const Mip6ProtectConfig *other, Mip6ProtectFault *fault)
{
    for (unsigned i = 0; i < sas(other); i++) {
        fault->is_key = share_key(mine, &other->sa[i]);
        if (fault->is_key || (is_out(i) == is_out(which) &&
                              mine->spi == other->sa[i].spi)) {
            snprintf(fault->text, sizeof(fault->text), "is the %s of %s of "
                     "another home address, too: each needs its own",
                     fault->is_key ? "key" : "SPI", mip6_protect_sa_name(i));
            return false;
        }
    }
    return true;
}

bool mip6_protect_fits(const Mip6ProtectConfig *config,
                       const Mip6ProtectConfig *other,
                       Mip6ProtectFault *fault)
{
    for (unsigned i = 0; i < sas(config); i++) {
        fault->sa = i;
        if (!differ(&config->sa[i], i, other, fault)) {
            return false;
        }
    }
    return true;
}

static void tell_fault(const Mip6ProtectSaConfig *sa, EspSaFault why,
                       Mip6ProtectFault *fault)
{
    const EspAlgorithm *a = sa->algorithm;

    fault->is_key = why != ESP_SA_SPI;
    if (why == ESP_SA_KEY_LEN) {
        snprintf(fault->text, sizeof(fault->text), "has %zu octets, and %s "
                 "needs %zu: %u of cipher, %u of salt, %u of HMAC",
                 sa->key_len, a->name, esp_algorithm_key_len(a), a->key_len,
                 a->salt_len, a->auth_key_len);
    } else {
        snprintf(fault->text, sizeof(fault->text), "%s",
                 esp_sa_fault_text(why));
    }
}

static bool make_sa(Mip6Protect *p, const Mip6ProtectConfig *config,
                    Mip6ProtectSa which, Mip6ProtectFault *fault)
{
    const Mip6ProtectSaConfig *mine = &config->sa[which];
    const EspSaState first = { .next = config->epoch };
    EspSaConfig esp = {
        .algorithm = mine->algorithm,
        .direction = is_out(which) ? ESP_OUTBOUND : ESP_INBOUND,
        .spi = mine->spi,
        .window = which == MIP6_SIGNAL_IN ? config->window : 0,
        .epoch = config->epoch,
        .key = mine->key,
        .key_len = mine->key_len,
    };
    EspSaFault why;

    fault->sa = which;
    p->sa[which] = esp_sa_new(&esp, &why);
    if (!p->sa[which]) {
        tell_fault(mine, why, fault);
        return false;
    }
    if (which == MIP6_SIGNAL_OUT && config->epoch) {
        esp_sa_load(p->sa[which], &first);
    } else if (which == MIP6_TUNNEL_OUT) {
        p->again = esp;
        p->again.key = p->key;
        memcpy(p->key, mine->key, mine->key_len);
    }
    return is_unique(config, which, fault);
}

Mip6Protect *mip6_protect_new(const Mip6ProtectConfig *config,
                              Mip6ProtectFault *fault)
{
    Mip6Protect *p = OPENSSL_zalloc(sizeof(*p));

    for (unsigned i = 0; p && i < sas(config); i++) {
        if (!make_sa(p, config, i, fault)) {
            mip6_protect_free(p);
            return NULL;
        }
    }
    if (!p) {
        fault->sa = MIP6_SIGNAL_OUT;
        tell_fault(&config->sa[0], ESP_SA_LIBCRYPTO, fault);
    }
    return p;
}

void mip6_protect_free(Mip6Protect *p)
{
    if (!p) {
        return;
    }
    for (unsigned i = 0; i < MIP6_PROTECT_SAS; i++) {
        esp_sa_free(p->sa[i]);
    }
    OPENSSL_clear_free(p, sizeof(*p));
}

/* --- sending -------------------------------------------------------------- */

/* Returns: offset of the "next header" octet for the upper layer */
static size_t next_field(const uint8_t *packet, const PacketIp6Ext *ext)
{
    size_t at[] = { ext->dst1, ext->routing, ext->dst2 };
    size_t last = packet[6] == PACKET_PROTO_HOPOPTS ? PACKET_IP6_LEN : 6;

    for (unsigned i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
        last = at[i] > last ? at[i] : last;
    }
    return last;
}

size_t mip6_protect_signal(Mip6Protect *p, void *packet, size_t len,
                           size_t room)
{
    uint8_t *buf = packet, upper[SIGNAL_MAX];
    struct iovec iov = { upper, 0 };
    PacketIp6Ext ext;
    size_t sealed;

    if (!packet_ip6_walk(&ext, packet, len) || ext.fragment ||
        ext.offset > len || len - ext.offset > sizeof(upper)) {
        return 0;
    }
    iov.iov_len = len - ext.offset;
    memcpy(upper, buf + ext.offset, iov.iov_len);
    if (esp_seal(p->sa[MIP6_SIGNAL_OUT], ext.next, &iov, 1, buf + ext.offset,
                 room - ext.offset, &sealed) != ESP_GOOD) {
        return 0;
    }
    buf[next_field(buf, &ext)] = ESP_PROTOCOL;
    len = ext.offset + sealed;
    put_be16(buf + 4, len - PACKET_IP6_LEN);
    return len;
}

/* Restarts with the same keys, and with nonces of an unused epoch. */
static bool begin_again(Mip6Protect *p)
{
    EspSa *sa;

    p->again.epoch++;
    sa = esp_sa_new(&p->again, NULL);
    if (!sa) {
        return false;
    }
    esp_sa_free(p->sa[MIP6_TUNNEL_OUT]);
    p->sa[MIP6_TUNNEL_OUT] = sa;
    return true;
}

size_t mip6_protect_tunnel(Mip6Protect *p, const struct iovec *iov, int iovcnt,
                           void *out, size_t room)
{
    size_t len = 0;

    if (esp_seal(p->sa[MIP6_TUNNEL_OUT], ESP_NEXT_IP6, iov, iovcnt, out, room,
                 &len) == ESP_OVERFLOW &&
        esp_sa_is_spent(p->sa[MIP6_TUNNEL_OUT]) && begin_again(p)) {
        esp_seal(p->sa[MIP6_TUNNEL_OUT], ESP_NEXT_IP6, iov, iovcnt, out, room,
                 &len);
    }
    return len;
}

size_t mip6_protect_tunnel_room(const Mip6Protect *p, size_t room)
{
    return esp_payload_max(p->sa[MIP6_TUNNEL_OUT], room);
}

/* --- receiving ------------------------------------------------------------ */

static bool may_carry(Mip6ProtectSa which, uint8_t next)
{
    return which == MIP6_TUNNEL_IN ? next == PACKET_PROTO_IP6
                                   : next == PACKET_PROTO_MH ||
                                     next == PACKET_PROTO_ICMP6;
}

static bool find_sa(const Mip6Protect *p, const struct iovec *esp, int iovcnt,
                    Mip6ProtectSa *which)
{
    uint32_t spi;

    if (!esp_spi(esp, iovcnt, &spi)) {
        return false;
    }
    for (*which = MIP6_SIGNAL_IN; *which < MIP6_PROTECT_SAS; *which += 2) {
        if (p->sa[*which] && spi == esp_sa_spi(p->sa[*which])) {
            return true;
        }
    }
    return false;
}

bool mip6_protect_knows(const Mip6Protect *p, const struct iovec *esp,
                        int iovcnt)
{
    Mip6ProtectSa which;

    return find_sa(p, esp, iovcnt, &which);
}

bool mip6_protect_open(Mip6Protect *p, const void *head,
                       const PacketIp6Ext *ext, const struct iovec *esp,
                       int iovcnt, void *out, size_t room, size_t *len,
                       Mip6ProtectSa *which)
{
    uint8_t *buf = out, next;
    size_t at = next_field(head, ext), payload;

    if (at >= ext->offset || ext->offset >= room ||
        !find_sa(p, esp, iovcnt, which)) {
        return false;
    }
    memcpy(buf, head, ext->offset);
    if (buf[at] != ESP_PROTOCOL ||
        esp_open(p->sa[*which], esp, iovcnt, buf + ext->offset,
                 room - ext->offset, &payload, &next) != ESP_GOOD ||
        !may_carry(*which, next)) {
        return false;
    }
    buf[at] = next;
    *len = ext->offset + payload;
    put_be16(buf + 4, *len - PACKET_IP6_LEN);
    return true;
}

bool mip6_protect_is_ours(const Mip6Protect *p, const void *packet, size_t len)
{
    const EspSa *sa = p->sa[MIP6_TUNNEL_OUT];
    const uint8_t *esp = packet;
    PacketIp6Ext ext;
    uint32_t age;

    if (!packet_ip6_walk(&ext, packet, len) || ext.next != ESP_PROTOCOL ||
        ext.fragment_offset || ext.offset + ESP_HEAD_LEN > len) {
        return false;
    }
    esp += ext.offset;
    /* Modulo 2^32, because the numbers may restart. */
    age = (uint32_t)esp_sa_next(sa) - 1 - get_be32(esp + 4);
    return get_be32(esp) == esp_sa_spi(sa) && age < RECENT;
}

/* --- migration ------------------------------------------------------------ */

void mip6_protect_hand_over(Mip6Protect *p, Mip6ProtectSa which,
                            EspSaState *state)
{
    if (!p->sa[which]) {
        memset(state, 0, sizeof(*state));
        return;
    }
    esp_sa_hand_over(p->sa[which], which == MIP6_TUNNEL_OUT ? KEEP_TUNNEL
                                                            : KEEP_SIGNAL,
                     state);
}

void mip6_protect_take_back(Mip6Protect *p)
{
    esp_sa_take_back(p->sa[MIP6_SIGNAL_OUT], KEEP_SIGNAL);
    if (p->sa[MIP6_TUNNEL_OUT]) {
        esp_sa_take_back(p->sa[MIP6_TUNNEL_OUT], KEEP_TUNNEL);
    }
}

bool mip6_protect_load(Mip6Protect *p, Mip6ProtectSa which,
                       const EspSaState *state)
{
    return p->sa[which] ? esp_sa_load(p->sa[which], state) : !state->next;
}
