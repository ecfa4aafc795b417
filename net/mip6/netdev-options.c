/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -netdev mip6: its options, except those of ipsec=esp */
#include "qemu/osdep.h"

#include "net/mip6/netdev-options.h"
#include "net/net.h"
#include "net/packet/ip6.h"
#include "net/util.h"
#include "qapi/error.h"
#include "qemu/guest-random.h"
#include "qemu/sockets.h"

#define LIFETIME_S      600

static bool parse_address(const char *id, const char *option,
                          const char *text, struct in6_addr *addr,
                          Error **errp)
{
    if (inet_pton(AF_INET6, text, addr) != 1 ||
        !packet_ip6_is_routable(addr)) {
        error_setg(errp, "mip6 '%s': %s=%s is not a global IPv6 address: write "
                   "it as 2001:db8:2000::10", id, option, text);
        return false;
    }
    return true;
}

static bool parse_mac(const char *id, const char *option, const char *text,
                      uint8_t *mac, Error **errp)
{
    /* net_parse_macaddr() accepts a single number as the end of an address. */
    if (!strchr(text, ':') || net_parse_macaddr(mac, text) < 0 ||
        !packet_eth_is_station(mac)) {
        error_setg(errp, "mip6 '%s': %s=%s is not a unicast MAC address: "
                   "write it as 52:54:00:12:34:56, with an even "
                   "first octet", id, option, text);
        return false;
    }
    return true;
}

static bool is_home(const Mip6HomeConfig *home, const struct in6_addr *addr)
{
    bool is = packet_ip6_equal(addr, &home->address);

    for (unsigned i = 0; i < home->more; i++) {
        is |= packet_ip6_equal(addr, &home->more_address[i]);
    }
    return is;
}

/* Parses another home address, @text, of the home prefix. */
static bool parse_more(const char *id, const char *text, Mip6HomeConfig *home,
                       Error **errp)
{
    struct in6_addr addr;

    if (!parse_address(id, "more-home-address", text, &addr, errp)) {
        return false;
    }
    if (!packet_ip6_in_prefix(&addr, &home->address, home->prefix_len)) {
        error_setg(errp, "mip6 '%s': more-home-address=%s does not have the "
                   "prefix of home-address, with home-prefix-length=%u: "
                   "all home addresses must be on one link",
                   id, text, home->prefix_len);
        return false;
    }
    if (is_home(home, &addr)) {
        error_setg(errp, "mip6 '%s': more-home-address=%s is a home address "
                   "already: name each once", id, text);
        return false;
    }
    if (home->more == ARRAY_SIZE(home->more_address)) {
        error_setg(errp, "mip6 '%s': more-home-address=%s is too many: a VM "
                   "has at most %u home addresses", id, text,
                   MIP6_HOME_ADDRESSES);
        return false;
    }
    home->more_address[home->more++] = addr;
    return true;
}

/* RFC 4291 section 2.6.1; not on links with two nodes (RFC 6164). */
static bool is_router_anycast(const Mip6HomeConfig *home)
{
    struct in6_addr rest = home->address;

    for (unsigned i = 0; i < home->prefix_len; i++) {
        rest.s6_addr[i / 8] &= ~(0x80 >> i % 8);
    }
    return home->prefix_len < 127 && IN6_IS_ADDR_UNSPECIFIED(&rest);
}

static bool parse_home(const char *id, const NetdevMip6Options *o,
                       Mip6HomeConfig *home, Error **errp)
{
    const strList *more;

    if (!parse_address(id, "home-address", o->home_address, &home->address,
                       errp)) {
        return false;
    }
    if (o->home_prefix_length < 1 || o->home_prefix_length > 127) {
        error_setg(errp, "mip6 '%s': home-prefix-length=%u is not 1 to 127: "
                   "it is the home link's, usually 64", id,
                   o->home_prefix_length);
        return false;
    }
    home->prefix_len = o->home_prefix_length;
    if (is_router_anycast(home)) {
        error_setg(errp, "mip6 '%s': home-address=%s is the address of all "
                   "routers of a prefix with home-prefix-length=%u (RFC 4291 "
                   "section 2.6.1): give the address that the VM has", id,
                   o->home_address, o->home_prefix_length);
        return false;
    }
    for (more = o->more_home_address; more; more = more->next) {
        if (!parse_more(id, more->value, home, errp)) {
            return false;
        }
    }
    home->has_guest_mac = o->guest_mac;
    home->has_router_mac = o->router_mac;
    return (!o->guest_mac || parse_mac(id, "guest-mac", o->guest_mac,
                                       home->guest_mac, errp)) &&
           (!o->router_mac || parse_mac(id, "router-mac", o->router_mac,
                                        home->router_mac, errp));
}

/* Checks the other options for home-agent=auto. */
static bool check_discovery(const char *id, const NetdevMip6Options *o,
                            Error **errp)
{
    if (o->home_prefix_length > MIP6_ICMP_PREFIX_BITS_MAX) {
        error_setg(errp, "mip6 '%s': home-agent=auto with "
                   "home-prefix-length=%u: the anycast address of home agents "
                   "(RFC 2526) needs at most %u: name the "
                   "home agent's address", id, o->home_prefix_length,
                   MIP6_ICMP_PREFIX_BITS_MAX);
        return false;
    }
    if (o->has_ipsec && o->ipsec == MIP6_IPSEC_OPTION_ESP) {
        error_setg(errp, "mip6 '%s': home-agent=auto with ipsec=esp: "
                   "configured keys are for one home agent: name its "
                   "address", id);
        return false;
    }
    return true;
}

/* Checks combinations of options. */
static bool check_options(const char *id, const NetdevMip6Options *o,
                          const Mip6PortConfig *config, Error **errp)
{
    if (config->discover) {
        if (!check_discovery(id, o, errp)) {
            return false;
        }
    } else if (!packet_ip6_in_prefix(&config->agent, &config->home.address,
                                     config->home.prefix_len)) {
        error_setg(errp, "mip6 '%s': home-agent=%s is not on the home link, "
                   "which is that of %s/%u: name the agent's address there, or "
                   "correct home-prefix-length", id, o->home_agent,
                   o->home_address, o->home_prefix_length);
        return false;
    }
    if (config->has_care_of &&
        packet_ip6_in_prefix(&config->care_of, &config->home.address,
                             config->home.prefix_len)) {
        error_setg(errp, "mip6 '%s': care-of=%s is on the home link: give an "
                   "address of the network where the VM will be, or \"auto\"",
                   id, o->care_of);
        return false;
    }
    if (o->care_of_mac && config->home.has_guest_mac &&
        !memcmp(config->mac, config->home.guest_mac, sizeof(config->mac))) {
        error_setg(errp, "mip6 '%s': care-of-mac=%s is guest-mac, too: QEMU is "
                   "another host than the guest, and needs an address of its "
                   "own", id, o->care_of_mac);
        return false;
    }
    if (config->has_care_of && config->location == MIP6_LOCATION_HOME) {
        error_setg(errp, "mip6 '%s': care-of=%s has no use with location=home: "
                   "leave one of them out", id, o->care_of);
        return false;
    }
    return true;
}

static bool parse_agent(const char *id, const NetdevMip6Options *o,
                        Mip6PortConfig *config, Error **errp)
{
    config->discover = !strcmp(o->home_agent, "auto");
    if (config->discover) {
        return true;
    }
    if (!parse_address(id, "home-agent", o->home_agent, &config->agent, errp)) {
        return false;
    }
    if (is_home(&config->home, &config->agent)) {
        error_setg(errp, "mip6 '%s': home-agent=%s is the home address: name "
                   "the home agent's own address", id, o->home_agent);
        return false;
    }
    return true;
}

/* RFC 2473 section 6.7: the smallest MTU of the path to the home agent. */
static bool parse_mtu(const char *id, const NetdevMip6Options *o,
                      Mip6PortConfig *config, Error **errp)
{
    config->mtu = o->has_mtu ? o->mtu : MIP6_CAREOF_MTU_MAX;
    if (config->mtu < PACKET_IP6_MTU_MIN || config->mtu > MIP6_CAREOF_MTU_MAX) {
        error_setg(errp, "mip6 '%s': mtu=%u is not %u to %u: it is that of "
                   "the path to the home agent", id, config->mtu,
                   PACKET_IP6_MTU_MIN, MIP6_CAREOF_MTU_MAX);
        return false;
    }
    return true;
}

static bool parse_options(const char *id, const NetdevMip6Options *o,
                          Mip6PortConfig *config, Error **errp)
{
    if (!parse_home(id, o, &config->home, errp) ||
        !parse_agent(id, o, config, errp) ||
        !parse_mtu(id, o, config, errp)) {
        return false;
    }
    if (o->care_of && strcmp(o->care_of, "auto")) {
        config->has_care_of = true;
        if (!parse_address(id, "care-of", o->care_of, &config->care_of, errp)) {
            return false;
        }
    }
    config->heard_addresses = o->has_heard_addresses && o->heard_addresses;
    config->early_registration = o->has_early_registration &&
                                 o->early_registration;
    config->location = o->has_location ? (Mip6Location)o->location
                                       : MIP6_LOCATION_AUTO;
    config->lifetime = LIFETIME_S / MIP6_LIFETIME_UNIT;
    if (o->care_of_mac) {
        return parse_mac(id, "care-of-mac", o->care_of_mac, config->mac, errp);
    }
    qemu_guest_getrandom_nofail(config->mac, sizeof(config->mac));
    config->mac[0] = (config->mac[0] & ~1) | 2;
    return true;
}

bool mip6_netdev_options(const char *id, const NetdevMip6Options *o,
                         Mip6PortConfig *config, Error **errp)
{
    return parse_options(id, o, config, errp) &&
           check_options(id, o, config, errp);
}
