/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The configuration file of vmmnet-ha
 *
 *     interface: eth0
 *     address: 2001:db8:2000::1/64        # of the agent, with the home prefix
 *     allow: ["2001:db8:2000::10"]        # home addresses; without it: all
 *     lifetime: 600                       # s, of a binding at most
 *     refresh: 300                        # s, advice when to register again
 *     prefix:                             # lifetimes in s
 *     - {prefix: "2001:db8:2000::/64", valid: 3600, preferred: 1800}
 *     preference: 0                       # among the link's home agents
 *     bindings: 10000                     # at most
 *     mtu: 1500                           # of the links that tunnels go over
 *     tun: mip6ha                         # name of the TUN device
 *     dad: optimistic                     # strict, off
 *     multicast: off                      # on
 *     state: /var/lib/vmmnet/ha.state     # bindings survive the agent
 *     esp: [...]                          # see config-esp.h
 *     replay-window: 64                   # of signalling in ESP; 0: none
 *     control: /run/vmmnet/ha.sock        # socket for vmmnet-ha show
 *     fast-path: auto                     # on, off
 *
 * The old form has lines of a word and a value, "interface eth0", and repeats
 * those of lists. It is read for one more release, and a line of the log says
 * so. Both forms end in parse_statement().
 */
#include <arpa/inet.h>
#include <limits.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "ha/base/mistake.h"
#include "ha/service/config-esp.h"
#include "ha/service/config.h"
#include "net/packet/ip6.h"

typedef struct Parser {
    Mip6HaConfig *config;
    Mip6HaEsp *esp;
    unsigned window;
    const char *file;
    unsigned line;
} Parser;

/* Sets an error about the parser's current line. Returns: false */
#define fail(p, errp, ...) \
    mip6_ha_mistake(errp, (p)->file, (p)->line, __VA_ARGS__)

static bool parse_number(const Parser *p, const char *word, const char *value,
                         unsigned min, unsigned max, unsigned *number,
                         GError **errp)
{
    guint64 parsed;

    if (!g_ascii_string_to_unsigned(value, 10, min, max, &parsed, NULL)) {
        return fail(p, errp, "%s '%s' is not a number from %u to %u", word,
                    value, min, max);
    }
    *number = parsed;
    return true;
}

static bool parse_name(const Parser *p, const char *word, const char *value,
                       char **name, GError **errp)
{
    if (strlen(value) >= IF_NAMESIZE) {
        return fail(p, errp, "%s '%s' is longer than %u characters", word,
                    value, IF_NAMESIZE - 1);
    }
    if (strpbrk(value, "/:%") || !strcmp(value, ".") || !strcmp(value, "..")) {
        return fail(p, errp, "%s '%s' is not a name for an interface", word,
                    value);
    }
    g_free(*name);
    *name = g_strdup(value);
    return true;
}

static bool parse_dad(const Parser *p, const char *value, GError **errp)
{
    static const char *const names[] = {
        [MIP6_AGENT_DAD_OFF] = "off",
        [MIP6_AGENT_DAD_OPTIMISTIC] = "optimistic",
        [MIP6_AGENT_DAD_STRICT] = "strict",
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        if (!strcmp(value, names[i])) {
            p->config->agent.dad = i;
            return true;
        }
    }
    return fail(p, errp, "dad '%s' is not optimistic, strict or off", value);
}

static bool parse_fast_path(const Parser *p, const char *value, GError **errp)
{
    static const char *const names[] = {
        [MIP6_HA_FAST_AUTO] = "auto",
        [MIP6_HA_FAST_ON] = "on",
        [MIP6_HA_FAST_OFF] = "off",
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        if (!strcmp(value, names[i])) {
            p->config->fast_path = i;
            return true;
        }
    }
    return fail(p, errp, "fast-path '%s' is not auto, on or off", value);
}

static bool parse_switch(const Parser *p, const char *word, const char *value,
                         bool *on, GError **errp)
{
    *on = !strcmp(value, "on");
    return *on || !strcmp(value, "off") ||
           fail(p, errp, "%s '%s' is not on or off", word, value);
}

static bool parse_path(const Parser *p, const char *word, const char *value,
                       char **path, GError **errp)
{
    if (*value != '/') {
        return fail(p, errp, "%s '%s' does not begin with '/'", word, value);
    }
    g_free(*path);
    *path = g_strdup(value);
    return true;
}

static bool parse_address(const Parser *p, const char *value, GError **errp)
{
    Mip6AgentConfig *agent = &p->config->agent;
    g_auto(GStrv) parts = g_strsplit(value, "/", 2);
    guint64 len;

    if (!parts[0] || !parts[1] ||
        inet_pton(AF_INET6, parts[0], &agent->address) != 1 ||
        !g_ascii_string_to_unsigned(parts[1], 10, 1, 127, &len, NULL)) {
        return fail(p, errp, "address '%s' is not an IPv6 address with the "
                    "length of the home prefix: write it as "
                    "2001:db8:2000::1/64", value);
    }
    if (!packet_ip6_is_routable(&agent->address)) {
        return fail(p, errp, "address '%s' is not a global unicast address",
                    value);
    }
    agent->prefix = agent->address;
    agent->prefix_len = len;
    return true;
}

static bool parse_allow(const Parser *p, const char *value, GError **errp)
{
    Mip6AgentConfig *agent = &p->config->agent;
    struct in6_addr home;

    if (inet_pton(AF_INET6, value, &home) != 1) {
        return fail(p, errp, "allow '%s' is not an IPv6 address", value);
    }
    if (!agent->allowed) {
        agent->allowed = g_hash_table_new_full(mip6_addr_hash,
                                               mip6_addr_equal, g_free, NULL);
    }
    g_hash_table_insert(agent->allowed, g_memdup2(&home, sizeof(home)),
                        GUINT_TO_POINTER(p->line));
    return true;
}

/* P/LEN, or P/LEN,VALID, or P/LEN,VALID,PREFERRED */
static bool parse_prefix(const Parser *p, const char *value, GError **errp)
{
    Mip6AgentConfig *agent = &p->config->agent;
    PacketNdPrefix *prefix = &agent->prefix_info[agent->prefixes];
    g_auto(GStrv) words = g_strsplit(value, ",", 3);
    g_auto(GStrv) parts = g_strsplit(words[0] ? words[0] : "", "/", 2);
    guint64 len, valid = 2592000, preferred = 604800;   /* RFC 4861 */
    bool timed = words[0] && words[1];

    if (agent->prefixes == PACKET_ND_PREFIX_MAX) {
        return fail(p, errp, "prefix '%s' is too many: at most %u", value,
                    PACKET_ND_PREFIX_MAX);
    }
    if (!parts[0] || !parts[1] ||
        inet_pton(AF_INET6, parts[0], &prefix->prefix) != 1 ||
        !g_ascii_string_to_unsigned(parts[1], 10, 1, 127, &len, NULL) ||
        (timed && !g_ascii_string_to_unsigned(words[1], 10, 0, UINT32_MAX,
                                              &valid, NULL)) ||
        (timed && words[2] &&
         !g_ascii_string_to_unsigned(words[2], 10, 0, UINT32_MAX, &preferred,
                                     NULL))) {
        return fail(p, errp, "prefix '%s' is not an IPv6 prefix with its valid "
                    "and preferred lifetimes: write it as "
                    "2001:db8:2000::/64,3600,1800", value);
    }
    if (!packet_ip6_is_routable(&prefix->prefix)) {
        return fail(p, errp, "prefix '%s' is not a global unicast prefix",
                    value);
    }
    preferred = timed && !words[2] ? MIN(valid, preferred) : preferred;
    if (preferred > valid) {
        return fail(p, errp, "prefix '%s' is preferred for longer than it is "
                    "valid", value);
    }
    prefix->len = len;
    prefix->on_link = prefix->autonomous = true;
    prefix->valid = valid;
    prefix->preferred = preferred;
    agent->prefixes++;
    return true;
}

static bool parse_preference(const Parser *p, const char *value, GError **errp)
{
    gint64 number;

    if (!g_ascii_string_to_signed(value, 10, INT16_MIN, INT16_MAX, &number,
                                  NULL)) {
        return fail(p, errp, "preference '%s' is not a number from %d to %d",
                    value, INT16_MIN, INT16_MAX);
    }
    p->config->agent.preference = number;
    return true;
}

static bool parse_esp(const Parser *p, const char *value, GError **errp)
{
    g_autofree char *error = mip6_ha_esp_line(p->esp, value, p->line);

    return !error || fail(p, errp, "%s", error);
}

static bool parse_window(Parser *p, const char *word, const char *value,
                         GError **errp)
{
    if (!parse_number(p, word, value, 0, ESP_WINDOW_MAX, &p->window, errp)) {
        return false;
    }
    return p->window % 64 == 0 ||
           fail(p, errp, "%s '%s' is not a multiple of 64", word, value);
}

/* These may be repeated; of the others each line would undo the one before. */
static bool is_list(const char *word)
{
    static const char *const lists[] = { "allow", "prefix", "esp", NULL };

    return g_strv_contains(lists, word);
}

/* Notes the line of @word, if it is the only one. */
static bool note_line(const Parser *p, const char *word, const char *value,
                      GError **errp)
{
    unsigned first = mip6_ha_config_line(p->config, word);

    if (first && !is_list(word)) {
        return fail(p, errp, "%s '%s' is the second one: line %u has one", word,
                    value, first);
    }
    g_hash_table_insert(p->config->lines, g_strdup(word),
                        GUINT_TO_POINTER(p->line));
    return true;
}

static bool parse_statement(Parser *p, const char *word,
                            const char *value, GError **errp)
{
    Mip6AgentConfig *agent = &p->config->agent;
    unsigned number = 0;

    if (!strcmp(word, "interface")) {
        return parse_name(p, word, value, &p->config->interface, errp);
    }
    if (!strcmp(word, "tun")) {
        return parse_name(p, word, value, &p->config->tun, errp);
    }
    if (!strcmp(word, "state")) {
        return parse_path(p, word, value, &p->config->state, errp);
    }
    if (!strcmp(word, "control")) {
        return parse_path(p, word, value, &p->config->control, errp);
    }
    if (!strcmp(word, "replay-window")) {
        return parse_window(p, word, value, errp);
    }
    if (!strcmp(word, "dad")) {
        return parse_dad(p, value, errp);
    }
    if (!strcmp(word, "fast-path")) {
        return parse_fast_path(p, value, errp);
    }
    if (!strcmp(word, "multicast")) {
        return parse_switch(p, word, value, &agent->multicast, errp);
    }
    if (!strcmp(word, "address")) {
        return parse_address(p, value, errp);
    }
    if (!strcmp(word, "allow")) {
        return parse_allow(p, value, errp);
    }
    if (!strcmp(word, "prefix")) {
        return parse_prefix(p, value, errp);
    }
    if (!strcmp(word, "preference")) {
        return parse_preference(p, value, errp);
    }
    if (!strcmp(word, "lifetime")) {
        if (!parse_number(p, word, value, MIP6_LIFETIME_UNIT,
                          UINT16_MAX * MIP6_LIFETIME_UNIT, &number, errp)) {
            return false;
        }
        agent->lifetime_max = number / MIP6_LIFETIME_UNIT;
        return true;
    }
    if (!strcmp(word, "refresh")) {
        if (!parse_number(p, word, value, MIP6_REFRESH_UNIT,
                          UINT16_MAX * MIP6_REFRESH_UNIT, &number, errp)) {
            return false;
        }
        agent->refresh = number / MIP6_REFRESH_UNIT;
        return true;
    }
    if (!strcmp(word, "bindings")) {
        return parse_number(p, word, value, 1, 1000000, &agent->bindings_max,
                            errp);
    }
    if (!strcmp(word, "mtu")) {
        return parse_number(p, word, value, 1320, 2048, &agent->mtu, errp);
    }
    return fail(p, errp, "'%s' is not interface, address, allow, lifetime, "
                "refresh, prefix, preference, bindings, mtu, tun, dad, "
                "multicast, state, control, fast-path, esp or replay-window",
                word);
}

/* --- the old form --------------------------------------------------------- */

static char *tell_old(const Parser *p, const char *word, const char *value)
{
    bool list = is_list(word);

    return g_strdup_printf("%s:%u: '%s %s' is the old form, which is read for "
                           "one more release: write '%s: %s%s%s'; allow, "
                           "prefix and esp are lists", p->file, p->line, word,
                           value, word, list ? "[\"" : "", value,
                           list ? "\"]" : "");
}

static bool parse_line(Parser *p, char *line, GError **errp)
{
    g_auto(GStrv) words = NULL;
    char *value;

    *strchrnul(line, '#') = '\0';
    g_strdelimit(line, "\t\r", ' ');
    g_strstrip(line);
    if (!*line) {
        return true;
    }
    words = g_strsplit(line, " ", 2);
    value = words[1] ? g_strstrip(words[1]) : NULL;
    if (value && !strcmp(words[0], "esp")) {
        return parse_esp(p, value, errp);
    }
    if (!value || !*value || strchr(value, ' ')) {
        return fail(p, errp, "'%s' needs one value", words[0]);
    }
    if (!p->config->old) {
        p->config->old = tell_old(p, words[0], value);
    }
    return parse_statement(p, words[0], value, errp) &&
           note_line(p, words[0], value, errp);
}

/* --- YAML ----------------------------------------------------------------- */

#define HOMES_MAX   1000000
#define SAS_MAX     (4 * HOMES_MAX)

/* Reports what the value's parser says, with the place. */
static void take(ConfigReader *r, const yaml_node_t *node, const char *word,
                 const char *value)
{
    g_autoptr(GError) err = NULL;
    Parser *p = r->whole;

    p->file = NULL;
    p->line = node->start_mark.line + 1;
    if (parse_statement(p, word, value, &err)) {
        g_hash_table_insert(p->config->lines, g_strdup(word),
                            GUINT_TO_POINTER(p->line));
    } else {
        config_say(r, node, err->message);
    }
    p->file = r->path;
}

static void read_value(ConfigReader *r, const yaml_node_t *node,
                       const ConfigKey *key, void *to)
{
    const char *text = config_scalar(r, node, key);

    if (text && !*text) {
        config_wrong(r, node, "is empty", key->right);
    } else if (text) {
        take(r, node, key->name, text);
    }
}

static void read_allow(ConfigReader *r, const yaml_node_t *node,
                       const ConfigKey *key, void *to)
{
    size_t count;

    config_list(r, node, key, 1, HOMES_MAX, read_value, &count);
}

#define TEXT(type, member, key, what)                                   \
    { .name = key, .read = config_read_text, .max = PATH_MAX,           \
      .offset = offsetof(type, member), .right = what }

typedef struct Prefix {
    const char *prefix, *valid, *preferred;
} Prefix;

static const ConfigKey prefix_keys[] = {
    TEXT(Prefix, prefix, "prefix", "a prefix as '2001:db8:2000::/64'"),
    TEXT(Prefix, valid, "valid", "a number of seconds"),
    TEXT(Prefix, preferred, "preferred", "a number of seconds"),
    { 0 },
};

static void read_prefix(ConfigReader *r, const yaml_node_t *node,
                        const ConfigKey *key, void *to)
{
    unsigned before = r->errors->count;
    Prefix *prefix = to;

    if (node->type == YAML_SCALAR_NODE) {
        read_value(r, node, key, to);
        return;
    }
    config_map(r, node, prefix_keys, prefix);
    if (r->errors->count > before) {
        return;
    }
    if (!prefix->prefix || (prefix->preferred && !prefix->valid)) {
        config_wrong(r, node, prefix->prefix ? "has no 'valid'"
                     : "has no 'prefix'", key->right);
    } else {
        g_autofree char *value =
            g_strjoin(",", prefix->prefix, prefix->valid, prefix->preferred,
                      NULL);

        take(r, node, key->name, value);
    }
}

static void read_prefixes(ConfigReader *r, const yaml_node_t *node,
                          const ConfigKey *key, void *to)
{
    size_t count;

    config_list(r, node, key, sizeof(Prefix), PACKET_ND_PREFIX_MAX,
                read_prefix, &count);
}

typedef struct Sa {
    const char *word[MIP6_HA_ESP_WORDS];
} Sa;

static const ConfigKey sa_keys[] = {
    TEXT(Sa, word[MIP6_HA_ESP_HOME], "home", "a home address"),
    TEXT(Sa, word[MIP6_HA_ESP_SA], "sa",
         "signal-in, signal-out, tunnel-in or tunnel-out"),
    TEXT(Sa, word[MIP6_HA_ESP_SPI], "spi", "a number from 256 to 0xffffffff"),
    TEXT(Sa, word[MIP6_HA_ESP_CIPHER], "cipher", "a cipher as aes-gcm-128"),
    TEXT(Sa, word[MIP6_HA_ESP_KEY_FILE], "key-file", "a file"),
    { 0 },
};

static void read_sa(ConfigReader *r, const yaml_node_t *node,
                    const ConfigKey *key, void *to)
{
    unsigned before = r->errors->count;
    g_autofree char *error = NULL;
    Parser *p = r->whole;
    Sa *sa = to;

    config_map(r, node, sa_keys, sa);
    for (unsigned i = 0; i < MIP6_HA_ESP_WORDS; i++) {
        if (r->errors->count == before && !sa->word[i]) {
            g_autofree char *how = g_strdup_printf("has no '%s'",
                                                   sa_keys[i].name);

            config_wrong(r, node, how, key->right);
        }
    }
    if (r->errors->count == before) {
        error = mip6_ha_esp_add(p->esp, sa->word, node->start_mark.line + 1);
    }
    if (error) {
        config_say(r, node, error);
    }
}

static void read_sas(ConfigReader *r, const yaml_node_t *node,
                     const ConfigKey *key, void *to)
{
    size_t count;

    config_list(r, node, key, sizeof(Sa), SAS_MAX, read_sa, &count);
}

static const ConfigKey keys[] = {
    { .name = "interface", .read = read_value,
      .right = "the name of an interface" },
    { .name = "address", .read = read_value,
      .right = "an address as '2001:db8:2000::1/64'" },
    { .name = "allow", .read = read_allow,
      .right = "a list of home addresses as '2001:db8:2000::10'" },
    { .name = "lifetime", .read = read_value, .right = "a number of seconds" },
    { .name = "refresh", .read = read_value, .right = "a number of seconds" },
    { .name = "prefix", .read = read_prefixes,
      .right = "a list of prefixes as '2001:db8:2000::/64', or of maps with "
               "'prefix', 'valid' and 'preferred'" },
    { .name = "preference", .read = read_value, .right = "a number" },
    { .name = "bindings", .read = read_value, .right = "a number" },
    { .name = "mtu", .read = read_value, .right = "a number of octets" },
    { .name = "tun", .read = read_value, .right = "the name of an interface" },
    { .name = "dad", .read = read_value,
      .right = "'optimistic', 'strict' or 'off'" },
    { .name = "multicast", .read = read_value, .right = "'on' or 'off'" },
    { .name = "state", .read = read_value, .right = "an absolute path" },
    { .name = "control", .read = read_value, .right = "an absolute path" },
    { .name = "fast-path", .read = read_value,
      .right = "'auto', 'on' or 'off'" },
    { .name = "esp", .read = read_sas,
      .right = "a list of maps with 'home', 'sa', 'spi', 'cipher' and "
               "'key-file'" },
    { .name = "replay-window", .read = read_value, .right = "a number" },
    { 0 },
};

/* Does it begin with a key or punctuation of YAML? The old form does not. */
static bool is_yaml(const char *text)
{
    while (*text) {
        size_t blank = strspn(text, " \t\r\n");
        size_t word = strcspn(text += blank, " \t\r\n");

        if (*text == '#') {
            text += strcspn(text, "\n");
        } else if (*text) {
            return strchr("{[-%\"'", *text) || text[word - 1] == ':';
        }
    }
    return false;
}

static bool parse_yaml(Parser *p, const char *text, GError **errp)
{
    g_autofree ConfigErrors *errors = g_new0(ConfigErrors, 1);
    ConfigMemory *memory = NULL;
    ConfigReader r = {
        .path = p->file, .whole = p, .memory = &memory, .errors = errors,
    };
    bool done = config_read(&r, text, strlen(text), keys, p);

    config_memory_free(memory);
    return done || mip6_ha_mistake(errp, NULL, 0, "%s", errors->text);
}

/* --- the whole ------------------------------------------------------------ */

/* Returns: why no node can be bound with @home; NULL: it can */
static const char *why_no_home(const Mip6AgentConfig *agent,
                               const struct in6_addr *home)
{
    struct in6_addr anycast = mip6_icmp_anycast(&agent->prefix,
                                                agent->prefix_len);

    if (!packet_ip6_in_prefix(home, &agent->prefix, agent->prefix_len)) {
        return "is not in the home prefix, that of 'address'";
    }
    if (packet_ip6_equal(home, &agent->address)) {
        return "is the agent's own address";
    }
    return packet_ip6_equal(home, &anycast)
           ? "is the anycast address of the home agents" : NULL;
}

/* Home addresses in lines @word; of several mistakes the first is told. */
static bool check_homes(Parser *p, const char *word, GHashTable *homes,
                        GError **errp)
{
    char text[INET6_ADDRSTRLEN] = "";
    const char *why = NULL;
    GHashTableIter iter;
    gpointer home, line;

    p->line = UINT_MAX;
    g_hash_table_iter_init(&iter, homes);
    while (g_hash_table_iter_next(&iter, &home, &line)) {
        const char *fault = why_no_home(&p->config->agent, home);

        if (fault && GPOINTER_TO_UINT(line) < p->line) {
            p->line = GPOINTER_TO_UINT(line);
            why = fault;
            inet_ntop(AF_INET6, home, text, sizeof(text));
        }
    }
    return !why || fail(p, errp, "%s '%s' %s", word, text, why);
}

/* Checks values that depend on those of other lines. */
static bool check_together(Parser *p, GError **errp)
{
    const Mip6HaConfig *config = p->config;
    const Mip6AgentConfig *agent = &config->agent;
    g_autoptr(GHashTable) protected = mip6_ha_esp_homes(p->esp);

    if ((agent->allowed && !check_homes(p, "allow", agent->allowed, errp)) ||
        !check_homes(p, "esp", protected, errp)) {
        return false;
    }
    p->line = mip6_ha_config_line(config, "refresh");
    if (agent->refresh && agent->refresh >= agent->lifetime_max) {
        return fail(p, errp, "refresh '%u' is not less than lifetime '%u'",
                    agent->refresh * MIP6_REFRESH_UNIT,
                    agent->lifetime_max * MIP6_LIFETIME_UNIT);
    }
    p->line = MAX(mip6_ha_config_line(config, "tun"),
                  mip6_ha_config_line(config, "interface"));
    if (!strcmp(config->tun, config->interface)) {
        return fail(p, errp, "tun '%s' is the interface, too", config->tun);
    }
    p->line = MAX(mip6_ha_config_line(config, "state"),
                  mip6_ha_config_line(config, "control"));
    if (config->state && !g_strcmp0(config->state, config->control)) {
        return fail(p, errp, "control '%s' is the state file, too",
                    config->control);
    }
    return true;
}

/* Checks that need all lines. */
static bool finish(Parser *p, GError **errp)
{
    Mip6HaConfig *config = p->config;
    g_autofree char *error = NULL;

    p->line = 0;
    if (!config->interface || !config->agent.prefix_len) {
        return fail(p, errp, "there is no line '%s', about the home link",
                    config->interface ? "address" : "interface");
    }
    if (!check_together(p, errp)) {
        return false;
    }
    config->agent.keys = mip6_ha_esp_finish(p->esp, p->window, config->epoch,
                                            &p->line, &error);
    return !error || fail(p, errp, "%s", error);
}

static bool parse_lines(Parser *p, const char *text, GError **errp)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    for (char **line = lines; *line; line++) {
        p->line++;
        if (!parse_line(p, *line, errp)) {
            return false;
        }
    }
    return true;
}

static bool parse_text(Parser *p, const char *text, GError **errp)
{
    return (is_yaml(text) ? parse_yaml(p, text, errp)
                          : parse_lines(p, text, errp)) && finish(p, errp);
}

Mip6HaConfig *mip6_ha_config_parse(const char *text, const char *file,
                                   uint32_t used, GError **errp)
{
    Mip6HaConfig *config = g_new0(Mip6HaConfig, 1);
    Parser p = { config, mip6_ha_esp_new(), MIP6_PROTECT_WINDOW, file, 0 };

    config->lines = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                          NULL);
    config->tun = g_strdup("mip6ha");
    config->epoch = MAX(g_get_real_time() / G_USEC_PER_SEC, used + 1ll);
    config->agent.lifetime_max = 600 / MIP6_LIFETIME_UNIT;
    config->agent.bindings_max = 10000;
    config->agent.mtu = 1500;
    config->agent.dad = MIP6_AGENT_DAD_OPTIMISTIC;
    if (!parse_text(&p, text, errp)) {
        mip6_ha_config_free(config);
        config = NULL;
    }
    mip6_ha_esp_free(p.esp);
    return config;
}

Mip6HaConfig *mip6_ha_config_read(const char *file, uint32_t used,
                                  GError **errp)
{
    g_autofree char *text = NULL;

    return g_file_get_contents(file, &text, NULL, errp)
           ? mip6_ha_config_parse(text, file, used, errp) : NULL;
}

const char *mip6_ha_config_fixed(const Mip6HaConfig *a, const Mip6HaConfig *b)
{
    const struct {
        const char *word;
        bool same;
    } statements[] = {
        { "interface", !g_strcmp0(a->interface, b->interface) },
        { "address", mip6_addr_equal(&a->agent.address, &b->agent.address) &&
                     a->agent.prefix_len == b->agent.prefix_len },
        { "tun", !g_strcmp0(a->tun, b->tun) },
        { "state", !g_strcmp0(a->state, b->state) },
        { "control", !g_strcmp0(a->control, b->control) },
        { "fast-path", a->fast_path == b->fast_path },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(statements); i++) {
        if (!statements[i].same) {
            return statements[i].word;
        }
    }
    return NULL;
}

unsigned mip6_ha_config_line(const Mip6HaConfig *config, const char *word)
{
    return GPOINTER_TO_UINT(g_hash_table_lookup(config->lines, word));
}

void mip6_ha_config_free(Mip6HaConfig *config)
{
    g_hash_table_destroy(config->lines);
    if (config->agent.allowed) {
        g_hash_table_destroy(config->agent.allowed);
    }
    mip6_keyring_free(config->agent.keys);
    g_free(config->interface);
    g_free(config->tun);
    g_free(config->state);
    g_free(config->control);
    g_free(config->old);
    g_free(config);
}
