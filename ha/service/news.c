/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The log of an agent: what happens to bindings and prefixes */
#include <arpa/inet.h>
#include <inttypes.h>

#include "ha/service/news.h"
#include "base/units.h"

static const struct {
    BaseLogRate rate;
    const char *what;
} limits[] = {
    [MIP6_HA_NEWS_REFUSALS] = { { SECOND, 20 }, "refused Binding Updates" },
    [MIP6_HA_NEWS_BINDINGS] = { { SECOND / 100, 1000 }, "changes of bindings" },
    [MIP6_HA_NEWS_PREFIXES] = { { 10 * SECOND, 10 }, "changes of prefixes" },
};

static Mip6HaNewsClass class_of(Mip6AgentNewsKind kind)
{
    switch (kind) {
    case MIP6_AGENT_REFUSED:
    case MIP6_AGENT_IGNORED:
        return MIP6_HA_NEWS_REFUSALS;
    case MIP6_AGENT_PREFIXES:
        return MIP6_HA_NEWS_PREFIXES;
    default:
        return MIP6_HA_NEWS_BINDINGS;
    }
}

/* RFC 6275 section 6.1.8, as far as an agent refuses. */
static const char *reason(uint8_t status)
{
    switch (status) {
    case MIP6_BA_PROHIBITED:
        return "not allowed by the configuration";
    case MIP6_BA_RESOURCES:
        return "no room, or the host refuses the route";
    case MIP6_BA_NO_HOME_REGISTRATION:
        return "no home registration";
    case MIP6_BA_NOT_HOME_SUBNET:
        return "not in the home prefix, or that is not valid";
    case MIP6_BA_NOT_HOME_AGENT:
        return "there is no binding to end";
    case MIP6_BA_DAD_FAILED:
        return "another node of the home link has the address";
    case MIP6_BA_SEQUENCE:
        return "an old sequence number";
    case MIP6_BA_INVALID_COA:
        return "the care-of address is invalid";
    default:
        return "refused";
    }
}

static void log_prefixes(const Mip6HaLink *link)
{
    g_autoptr(GString) line = g_string_new("the home link's prefixes:");
    char text[INET6_ADDRSTRLEN];

    for (unsigned i = 0; i < link->prefixes; i++) {
        const PacketNdPrefix *p = &link->prefix[i].advertised;

        inet_ntop(AF_INET6, &p->prefix, text, sizeof(text));
        g_string_append_printf(line, "%s %s/%u valid %" PRIu32
                               " s, preferred %" PRIu32 " s",
                               i ? ";" : "", text, p->len, p->valid,
                               p->preferred);
    }
    g_message("%s", line->str);
}

void mip6_ha_news_tell(Mip6HaNews *n, int64_t now, const Mip6AgentNews *news,
                       const Mip6HaLink *link)
{
    Mip6HaNewsClass class = class_of(news->kind);
    char home[INET6_ADDRSTRLEN], care_of[INET6_ADDRSTRLEN];
    char previous[INET6_ADDRSTRLEN];

    if (!base_log_may(&n->limit[class], &limits[class].rate, now)) {
        return;
    }
    inet_ntop(AF_INET6, &news->home, home, sizeof(home));
    inet_ntop(AF_INET6, &news->care_of, care_of, sizeof(care_of));
    inet_ntop(AF_INET6, &news->previous, previous, sizeof(previous));
    switch (news->kind) {
    case MIP6_AGENT_BOUND:
        g_message("bound %s at %s", home, care_of);
        break;
    case MIP6_AGENT_MOVED:
        g_message("moved %s from %s to %s", home, previous, care_of);
        break;
    case MIP6_AGENT_CONTESTED:
        g_warning("contested: %s goes to and fro (%u times), now from %s to "
                  "%s: do two nodes have this home address?", home,
                  news->moves, previous, care_of);
        break;
    case MIP6_AGENT_SETTLED:
        g_message("%s stays at %s: it is not contested any more", home,
                  care_of);
        break;
    case MIP6_AGENT_ENDED:
        g_message("ended %s at %s by its node", home, care_of);
        break;
    case MIP6_AGENT_EXPIRED:
        g_message("expired %s at %s: no update came", home, care_of);
        break;
    case MIP6_AGENT_REVOKED:
        g_message("revoked %s at %s: it is not allowed any more", home,
                  care_of);
        break;
    case MIP6_AGENT_REFUSED:
        g_message("refused %s at %s, status %u: %s", home, care_of,
                  news->status, reason(news->status));
        break;
    case MIP6_AGENT_IGNORED:
        g_message("ignored a message of %s from %s: the home address requires "
                  "ESP", home, care_of);
        break;
    case MIP6_AGENT_PREFIXES:
        log_prefixes(link);
        break;
    }
}

void mip6_ha_news_tick(Mip6HaNews *n, int64_t now)
{
    for (unsigned i = 0; i < MIP6_HA_NEWS_CLASSES; i++) {
        uint64_t left_out = base_log_left_out(&n->limit[i], &limits[i].rate,
                                              now);

        if (left_out) {
            g_message("%" PRIu64 " %s were not logged", left_out,
                      limits[i].what);
        }
    }
}
