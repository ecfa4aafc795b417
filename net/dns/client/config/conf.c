/* SPDX-License-Identifier: GPL-2.0-or-later */
/* resolv.conf(5), and the candidates of the search list for a name */

#include <errno.h>
#include <string.h>

#include "net/dns/client/config/conf.h"
#include "net/dns/client/config/number.h"

#define LINE_MAX_LEN    4096
#define BLANK           " \t"

static void set_bounded(const char *text, unsigned min, unsigned max,
                        unsigned *value)
{
    unsigned long n;

    if (dnsc_number_parse(text, UINT32_MAX, &n)) {
        *value = n < min ? min : n > max ? max : n;
    }
}

static void read_options(DnscConf *conf, char *words)
{
    static const struct {
        const char *name;
        size_t offset;
    } flags[] = {
        { "no-aaaa", offsetof(DnscConf, no_aaaa) },
        { "rotate", offsetof(DnscConf, rotate) },
        { "trust-ad", offsetof(DnscConf, trust_ad) },
        { "use-vc", offsetof(DnscConf, use_vc) },
    };
    char *save, *word;
    size_t i;

    for (word = strtok_r(words, BLANK, &save); word;
         word = strtok_r(NULL, BLANK, &save)) {
        if (!strncmp(word, "ndots:", 6)) {
            set_bounded(word + 6, 0, 15, &conf->ndots);
        } else if (!strncmp(word, "timeout:", 8)) {
            set_bounded(word + 8, 1, 30, &conf->timeout);
        } else if (!strncmp(word, "attempts:", 9)) {
            set_bounded(word + 9, 1, 5, &conf->attempts);
        }
        for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
            if (!strcmp(word, flags[i].name)) {
                *(bool *)((char *)conf + flags[i].offset) = true;
            }
        }
    }
}

static void read_search(DnscConf *conf, char *words, size_t max)
{
    char *save, *word;

    conf->searches = 0;
    for (word = strtok_r(words, BLANK, &save); word;
         word = strtok_r(NULL, BLANK, &save)) {
        if (conf->searches < max &&
            !dns_name_from_text(&conf->search[conf->searches], word)) {
            conf->searches++;
        }
    }
}

static void read_line(DnscConf *conf, char *line, bool *searched)
{
    char *save, *keyword = strtok_r(line, BLANK, &save);
    char *rest = save;

    if (!keyword || *keyword == '#' || *keyword == ';') {
        return;
    }
    if (!strcmp(keyword, "nameserver")) {
        char *addr = strtok_r(NULL, BLANK, &save);

        if (addr && !strchr(addr, '@')) {
            dnsc_list_add(&conf->servers, addr);
        }
    } else if (!strcmp(keyword, "search")) {
        read_search(conf, rest, DNSC_SEARCH_MAX);
        *searched = true;
    } else if (!strcmp(keyword, "domain")) {
        read_search(conf, rest, 1);
        *searched = true;
    } else if (!strcmp(keyword, "options")) {
        read_options(conf, rest);
    }
}

void dnsc_conf_parse(DnscConf *conf, const char *text, size_t len,
                     const char *hostname)
{
    const char *end = text + len;
    const char *domain = hostname ? strchr(hostname, '.') : NULL;
    char line[LINE_MAX_LEN];
    bool searched = false;

    *conf = (DnscConf){ .ndots = 1, .timeout = 5, .attempts = 2 };
    while (text < end) {
        const char *next = memchr(text, '\n', end - text);
        size_t n = (next ? next : end) - text;

        if (n < sizeof(line)) {
            memcpy(line, text, n);
            line[n] = '\0';
            read_line(conf, line, &searched);
        }
        text += n + 1;
    }
    if (!searched && domain &&
        !dns_name_from_text(&conf->search[0], domain + 1)) {
        conf->searches = 1;
    }
    if (!conf->servers.count) {
        conf->names_none = true;
        dnsc_list_add(&conf->servers, "127.0.0.1");
    }
}

/* Append suffix to name; -EINVAL if that is too long. */
static int append(DnsName *name, const DnsName *suffix)
{
    if (name->len - 1 + suffix->len > DNS_NAME_MAX) {
        return -EINVAL;
    }
    memcpy(name->wire + name->len - 1, suffix->wire, suffix->len);
    name->len += suffix->len - 1;
    name->labels += suffix->labels;
    return 0;
}

int dnsc_conf_candidate(const DnscConf *conf, const char *text, bool search,
                        size_t index, DnsName *name)
{
    size_t len = strlen(text);
    size_t searches = conf->searches;
    bool last;

    if (dns_name_from_text(name, text)) {
        return -EINVAL;
    }
    if (!search || (len && text[len - 1] == '.' &&
                    !(len > 1 && text[len - 2] == '\\'))) {
        return index == 0;
    }
    /* a name has one dot less than labels */
    last = name->labels <= conf->ndots;
    if (index > searches) {
        return 0;
    }
    if (index == (last ? searches : 0)) {
        return 1;
    }
    /* A candidate that is too long does not exist. */
    return append(name, &conf->search[last ? index : index - 1]) ? 0 : 1;
}
