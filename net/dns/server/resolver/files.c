/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of the resolver: trust anchors and root hints */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/dns/server/resolver/files.h"

#define ANCHORS_MAX     (1u << 20)      /* octets of a file */

/* --- state of the files --------------------------------------------------- */

static void look(const char *path, struct stat *at)
{
    if (!path || stat(path, at) < 0) {
        *at = (struct stat) { 0 };
    }
}

void dnsd_resolver_files_look(const DnsdResolverConfig *c,
                              DnsdResolverFiles *files)
{
    look(c->dnssec == DNSD_DNSSEC_OFF ? NULL : c->trust_anchor,
         &files->anchor);
    look(c->forwards ? NULL : c->root_hints, &files->hints);
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
           a->st_size == b->st_size && same_time(&a->st_mtim, &b->st_mtim) &&
           same_time(&a->st_ctim, &b->st_ctim);
}

bool dnsd_resolver_files_same(const DnsdResolverFiles *a,
                              const DnsdResolverFiles *b)
{
    return same(&a->anchor, &b->anchor) && same(&a->hints, &b->hints);
}

/* --- contents ------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '(' || c == ')';
}

/* Is one of the words of the line the type of a trust anchor? */
static bool line_has_anchor(char *line)
{
    static const char blank[] = " \t\r()";
    char *rest;

    line[strcspn(line, ";")] = 0;
    /* If the line does not begin with a blank, its first word is the owner. */
    if (!is_blank(*line)) {
        line += strcspn(line, blank);
    }
    for (char *word = strtok_r(line, blank, &rest); word;
         word = strtok_r(NULL, blank, &rest)) {
        if (!strcasecmp(word, "DS") || !strcasecmp(word, "DNSKEY")) {
            return true;
        }
    }
    return false;
}

/* Of a longer file only the beginning is read. */
static bool has_anchor(FILE *file)
{
    char *text = malloc(ANCHORS_MAX + 1);
    bool has = false;
    char *rest;

    if (!text) {
        return false;
    }
    text[fread(text, 1, ANCHORS_MAX, file)] = 0;
    for (char *line = strtok_r(text, "\n", &rest); line && !has;
         line = strtok_r(NULL, "\n", &rest)) {
        has = line_has_anchor(line);
    }
    free(text);
    return has;
}

/* --- checks --------------------------------------------------------------- */

static FILE *open_file(const char *path, const char *key, const char *more,
                       DnsdMistake *mistake)
{
    FILE *file = fopen(path, "re");

    if (!file) {
        snprintf(mistake->text, sizeof(mistake->text),
                 "resolver.%s: '%s': %s%s", key, path, strerror(errno), more);
    }
    return file;
}

static bool check_anchor(const char *path, DnsdMistake *mistake)
{
    FILE *file = open_file(path, "trust-anchor", "; Debian has the root's in "
                           "the package dns-root-data", mistake);
    bool has;

    if (!file) {
        return false;
    }
    has = has_anchor(file);
    fclose(file);
    if (!has) {
        snprintf(mistake->text, sizeof(mistake->text),
                 "resolver.trust-anchor: '%s' has no DS and no DNSKEY record, "
                 "so nothing would be validated; right is a file as "
                 "dns-root-data has it, or 'dnssec: off'", path);
    }
    return has;
}

static bool check_hints(const char *path, DnsdMistake *mistake)
{
    FILE *file = open_file(path, "root-hints", "", mistake);

    if (file) {
        fclose(file);
    }
    return file;
}

bool dnsd_resolver_files_check(const DnsdResolverConfig *c,
                               DnsdMistake *mistake)
{
    return (c->dnssec == DNSD_DNSSEC_OFF ||
            check_anchor(c->trust_anchor, mistake)) &&
           (!c->root_hints || c->forwards ||
            check_hints(c->root_hints, mistake));
}
