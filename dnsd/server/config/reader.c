/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A reader of YAML with tables of keys */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/nearest.h"
#include "dnsd/server/config/memory.h"
#include "dnsd/server/config/reader.h"
#include "dnsd/server/core/number.h"

#define SHOWN_MAX       60      /* octets of a value in a message */
#define KEYS_MAX        32      /* per table */

/* --- messages ------------------------------------------------------------- */

static void add_text(DnsdMistakes *m, const char *format, ...)
{
    size_t room = sizeof(m->text) - m->len;
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(m->text + m->len, room, format, args);
    va_end(args);
    m->len += len < 0 ? 0 : (size_t)len < room ? (size_t)len : room - 1;
}

/* Replace control characters, which must not reach a terminal. */
static void show(char to[SHOWN_MAX + 1], const char *text)
{
    size_t i;

    for (i = 0; i < SHOWN_MAX && text[i]; i++) {
        to[i] = text[i] < ' ' || text[i] == 0x7f ? '?' : text[i];
    }
    to[i] = 0;
}

static void begin_line(DnsdReader *r, const yaml_node_t *node)
{
    r->mistakes->count++;
    add_text(r->mistakes, "%s%s:%zu:%zu: ", r->mistakes->len ? "\n" : "",
             r->path, node->start_mark.line + 1, node->start_mark.column + 1);
}

void dnsd_reader_wrong(DnsdReader *r, const yaml_node_t *node, const char *how,
                       const char *right)
{
    char shown[SHOWN_MAX + 1];

    begin_line(r, node);
    if (node->type == YAML_SCALAR_NODE) {
        show(shown, (const char *)node->data.scalar.value);
        add_text(r->mistakes, "%s: '%s' %s; right is %s", r->key, shown, how,
                 right);
    } else {
        add_text(r->mistakes, "%s: a %s %s; right is %s", r->key,
                 node->type == YAML_MAPPING_NODE ? "map" : "list", how, right);
    }
}

static void tell_unknown(DnsdReader *r, const yaml_node_t *node,
                         const char *word, const DnsdKey *keys)
{
    const char *nearest = keys->name;
    unsigned best = -1u;
    char shown[SHOWN_MAX + 1];

    for (const DnsdKey *key = keys; key->name; key++) {
        unsigned distance = word_distance(word, key->name);

        if (distance < best) {
            best = distance;
            nearest = key->name;
        }
    }
    begin_line(r, node);
    show(shown, word);
    add_text(r->mistakes, "%s%s'%s' is no key here; the nearest is '%s'",
             r->key, *r->key ? ": " : "", shown, nearest);
}

/* --- the position --------------------------------------------------------- */

static size_t enter(DnsdReader *r, const char *name)
{
    size_t len = strlen(r->key);

    snprintf(r->key + len, sizeof(r->key) - len, "%s%s", len ? "." : "", name);
    return len;
}

static size_t enter_item(DnsdReader *r, size_t index)
{
    size_t len = strlen(r->key);

    snprintf(r->key + len, sizeof(r->key) - len, "[%zu]", index);
    return len;
}

static void leave(DnsdReader *r, size_t len)
{
    r->key[len] = 0;
}

/* --- maps and lists ------------------------------------------------------- */

static const yaml_node_t *node_of(DnsdReader *r, int index)
{
    return yaml_document_get_node(&r->document, index);
}

static const DnsdKey *find_key(const DnsdKey *keys, const char *word)
{
    for (; keys->name; keys++) {
        if (!strcmp(keys->name, word)) {
            return keys;
        }
    }
    return NULL;
}

static void read_pair(DnsdReader *r, const yaml_node_pair_t *pair,
                      const DnsdKey *keys, bool *seen, void *to)
{
    const yaml_node_t *name = node_of(r, pair->key);
    const char *word = name->type == YAML_SCALAR_NODE
                       ? (const char *)name->data.scalar.value : "";
    const DnsdKey *key = find_key(keys, word);
    size_t before;

    if (!key) {
        tell_unknown(r, name, word, keys);
        return;
    }
    before = enter(r, key->name);
    if (seen[key - keys]) {
        dnsd_reader_wrong(r, name, "is here twice", "once");
    } else {
        seen[key - keys] = true;
        key->read(r, node_of(r, pair->value), key, (char *)to + key->offset);
    }
    leave(r, before);
}

void dnsd_reader_map(DnsdReader *r, const yaml_node_t *node,
                     const DnsdKey *keys, void *to)
{
    bool seen[KEYS_MAX] = { false };

    if (node->type != YAML_MAPPING_NODE) {
        dnsd_reader_wrong(r, node, "is no map", "'key: value' in each line");
        return;
    }
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++) {
        read_pair(r, pair, keys, seen, to);
    }
}

void *dnsd_reader_list(DnsdReader *r, const yaml_node_t *node,
                       const DnsdKey *key, size_t size, size_t max,
                       void (*each)(DnsdReader *, const yaml_node_t *,
                                    const DnsdKey *, void *),
                       size_t *count)
{
    const yaml_node_item_t *items;
    char *to;

    *count = 0;
    if (node->type != YAML_SEQUENCE_NODE) {
        dnsd_reader_wrong(r, node, "is no list", key->right);
        return NULL;
    }
    items = node->data.sequence.items.start;
    *count = node->data.sequence.items.top - items;
    if (*count > max) {
        dnsd_reader_wrong(r, node, "is too long", key->right);
        *count = 0;
    }
    to = dnsd_memory_get(&r->config->memory, *count * size);
    for (size_t i = 0; i < *count; i++) {
        size_t before = enter_item(r, i);

        each(r, node_of(r, items[i]), key, to + i * size);
        leave(r, before);
    }
    return to;
}

/* --- values --------------------------------------------------------------- */

const char *dnsd_reader_scalar(DnsdReader *r, const yaml_node_t *node,
                               const DnsdKey *key)
{
    const char *text = (const char *)node->data.scalar.value;

    if (node->type != YAML_SCALAR_NODE) {
        dnsd_reader_wrong(r, node, "is no value", key->right);
        return NULL;
    }
    if (strlen(text) != node->data.scalar.length) {
        dnsd_reader_wrong(r, node, "has a NUL", key->right);
        return NULL;
    }
    return text;
}

static bool is_one_of(const char *text, const char *a, const char *b,
                      const char *c)
{
    return !strcasecmp(text, a) || !strcasecmp(text, b) ||
           !strcasecmp(text, c);
}

bool dnsd_reader_is_off(const char *text)
{
    return is_one_of(text, "off", "false", "no");
}

void dnsd_read_number(DnsdReader *r, const yaml_node_t *node,
                      const DnsdKey *key, void *to)
{
    const char *text = dnsd_reader_scalar(r, node, key);

    if (!text) {
        return;
    }
    switch (dnsd_number_read(text, key->min, key->max, to)) {
    case DNSD_NUMBER_NONE:
        dnsd_reader_wrong(r, node, "is no number", key->right);
        break;
    case DNSD_NUMBER_RANGE:
        dnsd_reader_wrong(r, node, "is out of range", key->right);
        break;
    case DNSD_NUMBER_RIGHT:
        break;
    }
}

void dnsd_read_switch(DnsdReader *r, const yaml_node_t *node,
                      const DnsdKey *key, void *to)
{
    const char *text = dnsd_reader_scalar(r, node, key);

    if (!text) {
        return;
    }
    if (!dnsd_reader_is_off(text) && !is_one_of(text, "on", "true", "yes")) {
        dnsd_reader_wrong(r, node, "is neither", key->right);
        return;
    }
    *(bool *)to = !dnsd_reader_is_off(text);
}

void dnsd_read_text(DnsdReader *r, const yaml_node_t *node,
                    const DnsdKey *key, void *to)
{
    const char *text = dnsd_reader_scalar(r, node, key);

    if (!text) {
        return;
    }
    if (!*text) {
        dnsd_reader_wrong(r, node, "is empty", key->right);
    } else if (strlen(text) > key->max) {
        dnsd_reader_wrong(r, node, "is too long", key->right);
    } else {
        *(const char **)to = dnsd_reader_is_off(text) ? NULL
            : dnsd_memory_text(&r->config->memory, text);
    }
}
